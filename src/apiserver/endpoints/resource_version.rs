//! The `resourceVersion` query parameter.

use serde_json::json;

use crate::apimachinery::api_error::ApiError;
use kueue_lab_field::FieldError;

/// Parses a resourceVersion; empty is 0.
pub(super) fn parse_resource_version(text: &str) -> Result<u64, ApiError> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        let error = FieldError::invalid("resourceVersion", text, why);
        ApiError::invalid("meta.k8s.io", "ListOptions", "", &[error])
    })
}

/// 504: the resourceVersion is larger than the current one. Clients retry.
pub(super) fn too_large_resource_version(message: &str) -> ApiError {
    let mut error = ApiError::new(504, "Timeout", message);
    error.details = json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    });
    error
}
