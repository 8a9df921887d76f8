//! Subresources: other views of an object, and things done to it.

mod binding;
mod connect;
mod eviction;
mod log;
mod scale;
mod token;

use serde_json::{Value, json};

use super::call::Call;
use super::reply::Reply;
use super::{get, patch, update};
use crate::status::ApiError;

/// Answers a request to a subresource the kind has, with a verb it has.
pub(super) async fn answer(call: &Call<'_>, verb: &str) -> Result<Reply, ApiError> {
    match (call.path.subresource.as_str(), verb) {
        ("scale", _) => scale::answer(call, verb).await,
        ("log", "get") => log::log(call).await,
        ("binding", "create") => binding::bind(call),
        ("eviction", "create") => eviction::evict(call).await,
        ("token", "create") => token::token(call),
        ("exec" | "attach" | "portforward" | "proxy", _) => connect::refuse(call),
        (_, "get") => get::get(call),
        (_, "update") => update::update(call).await,
        (_, "patch") => patch::patch(call).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

pub(super) use binding::bind_unnamed;

/// The Status that says a create-only subresource has done its work.
fn done(call: &Call<'_>) -> Reply {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    });
    Reply::value(201, call.view.accept, &status)
}

/// A string in an object, empty where it is not there.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
