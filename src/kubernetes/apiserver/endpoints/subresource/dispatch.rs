//! Dispatches a request to the handler of its subresource.

use serde_json::json;

use super::connect_options::connect_options;
use super::{binding, eviction, pod_log, proxy, remote_command, scale, token_request};
use crate::endpoints::admission_chain::admit_connect;
use crate::endpoints::request_context::RequestContext;
use crate::endpoints::response::ApiResponse;
use crate::endpoints::{get, patch, update};
use kueue_lab_apimachinery::api_error::ApiError;

/// Handles a request to a subresource; the caller has checked that it supports the verb.
pub(crate) async fn handle(call: &RequestContext<'_>, verb: &str) -> Result<ApiResponse, ApiError> {
    let subresource = call.path.subresource.as_str();
    if matches!(subresource, "exec" | "attach" | "portforward" | "proxy") {
        let (kind, options) = connect_options(call);
        admit_connect(call, kind, options).await?;
    }
    match (subresource, verb) {
        ("scale", _) => scale::handle(call, verb).await,
        ("log", "get") => pod_log::pod_log(call).await,
        ("binding", "create") => binding::create_binding(call).await,
        ("eviction", "create") => eviction::create_eviction(call).await,
        ("token", "create") => token_request::create_token_request(call),
        ("exec" | "attach", _) => remote_command::exec_or_attach(call).await,
        ("portforward", _) => remote_command::port_forward(call).await,
        ("proxy", _) => proxy::proxy(call).await,
        (_, "get") => get::get(call),
        (_, "update") => update::update(call).await,
        (_, "patch") => patch::patch(call).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// The success Status of a create-only subresource.
pub(crate) fn created_status(call: &RequestContext<'_>) -> ApiResponse {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    });
    ApiResponse::value(201, call.transformer.accept, &status)
}
