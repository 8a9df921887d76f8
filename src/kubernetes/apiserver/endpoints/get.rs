//! The get handler.

use super::request_context::RequestContext;
use super::resource_version::{check_not_too_large, parse_resource_version};
use super::response::ApiResponse;
use kueue_lab_apimachinery::api_error::ApiError;

/// Handles GET of a named object.
pub(super) fn get(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let requested = parse_resource_version(call.query.text("resourceVersion"))?;
    check_not_too_large(requested, call.core.store.durable_revision())?;
    let object = call.stored_object()?;
    call.transformer.object_response(200, &object)
}
