//! Subresources: other views of an object, and things done to it.

mod binding;
mod connect;
mod eviction;
mod pod_log;
mod scale;
mod token_request;

use serde_json::{Value, json};

use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::{get, patch, update};
use crate::apimachinery::api_error::ApiError;

/// Answers a request to a subresource the kind has, with a verb it has.
pub(super) async fn answer(call: &RequestContext<'_>, verb: &str) -> Result<ApiResponse, ApiError> {
    match (call.path.subresource.as_str(), verb) {
        ("scale", _) => scale::answer(call, verb).await,
        ("log", "get") => pod_log::pod_log(call).await,
        ("binding", "create") => binding::create_binding(call),
        ("eviction", "create") => eviction::create_eviction(call).await,
        ("token", "create") => token_request::create_token_request(call),
        ("exec" | "attach" | "portforward" | "proxy", _) => connect::not_implemented(call),
        (_, "get") => get::get(call),
        (_, "update") => update::update(call).await,
        (_, "patch") => patch::patch(call).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

pub(super) use binding::create_legacy_binding;

/// The Status that says a create-only subresource has done its work.
fn created_status(call: &RequestContext<'_>) -> ApiResponse {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    });
    ApiResponse::value(201, call.transformer.accept, &status)
}

/// A string in an object, empty where it is not there.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
