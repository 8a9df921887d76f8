//! The `resourceVersion` query parameter.

use serde_json::json;

use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_field::FieldError;

/// Parses the resourceVersion of a get or watch; empty is 0.
///
/// # Errors
/// 500, as the storage of Kubernetes returns it.
pub(super) fn parse_resource_version(text: &str) -> Result<u64, ApiError> {
    parse(text).map_err(|error| ApiError::new(500, StatusReason::Unknown, error.to_string()))
}

/// Parses the resourceVersion of a list; empty is 0.
///
/// # Errors
/// 400.
pub(super) fn parse_list_resource_version(text: &str) -> Result<u64, ApiError> {
    parse(text).map_err(|error| ApiError::bad_request(format!("invalid resource version: {error}")))
}

fn parse(text: &str) -> Result<u64, FieldError> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        let reason = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        FieldError::invalid("resourceVersion", text, reason)
    })
}

/// 504 if a resourceVersion is larger than the `current` one. Clients retry.
pub(super) fn check_not_too_large(requested: u64, current: u64) -> Result<(), ApiError> {
    if requested <= current {
        return Ok(());
    }
    Err(too_large_resource_version(&format!(
        "Too large resource version: {requested}, current: {current}"
    )))
}

/// 504: the resourceVersion is larger than the current one. Clients retry.
pub(super) fn too_large_resource_version(message: &str) -> ApiError {
    let mut error = ApiError::new(504, StatusReason::Timeout, message);
    error.details = json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    });
    error
}
