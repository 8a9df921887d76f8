//! Connect subresources, which need a connection to a container or service and are not implemented.

use serde_json::Value;

use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use crate::apimachinery::api_error::ApiError;
use kueue_lab_json::ValueExt;

/// Rejects `exec`, `attach`, `portforward` and `proxy`.
pub(super) fn not_implemented(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let name = &call.path.name;
    let object = call
        .storage()?
        .get(&call.storage_key(name))
        .ok_or_else(|| call.not_found(name))?;
    if call.path.resource == "pods" {
        let pod = call.transformer.decoded(&object)?;
        let host: &Value = &pod;
        if host.text("/spec/nodeName").is_empty() {
            return Err(ApiError::bad_request(format!(
                "pod {name} does not have a host assigned"
            )));
        }
    }
    Err(ApiError::new(
        501,
        "NotImplemented",
        format!(
            "{} of {} {name:?}: containers do not run on this cluster, so there is nothing to connect to",
            call.path.subresource, call.path.resource
        ),
    ))
}
