//! The get handler.

use super::request_context::RequestContext;
use super::response::ApiResponse;
use crate::apimachinery::api_error::ApiError;

/// Handles GET of a named object.
pub(super) fn get(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let name = &call.path.name;
    let object = call
        .storage()?
        .get(&call.storage_key(name))
        .ok_or_else(|| call.not_found(name))?;
    call.transformer.object_response(200, &object)
}
