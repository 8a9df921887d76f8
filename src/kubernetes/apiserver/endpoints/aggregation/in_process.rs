//! Requests to the resources of extension API servers of this process.

use crate::endpoints::request_context::RequestContext;
use crate::endpoints::response::ApiResponse;
use crate::plugins::{AggregatedApi, AggregatedRequest};
use kueue_lab_apimachinery::api_error::ApiError;

/// Handles a request to a resource of `api`.
///
/// # Errors
/// The path or verb is not served, or the extension API server returns an error.
pub(in crate::endpoints) fn handle(
    call: &RequestContext<'_>,
    api: &dyn AggregatedApi,
    verb: &str,
) -> Result<ApiResponse, ApiError> {
    if call.path.subresource.is_empty() {
        return Ok(ApiResponse::page_not_found());
    }
    call.check_verb(verb)?;
    let mut value = api.get_subresource(&AggregatedRequest {
        resource: &call.path.resource,
        namespace: call.namespace(),
        name: &call.path.name,
        parameters: call.query.pairs(),
    })?;
    let found = call.served.kind.subresource(&call.path.subresource);
    value["kind"] = found.map_or("", |sub| &*sub.kind).into();
    value["apiVersion"] = call.served.api_version.as_str().into();
    Ok(ApiResponse::value(200, call.transformer.accept, &value))
}
