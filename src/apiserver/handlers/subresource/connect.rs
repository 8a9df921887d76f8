//! What would need a connection into a container or behind a service: nothing runs here.

use serde_json::Value;

use super::super::call::Call;
use super::super::reply::Reply;
use super::text;
use crate::status::ApiError;

/// Refuses `exec`, `attach`, `portforward` and `proxy` with the reason a client understands.
pub(super) fn refuse(call: &Call<'_>) -> Result<Reply, ApiError> {
    let name = &call.path.name;
    let object = call
        .space()?
        .get(&call.key(name))
        .ok_or_else(|| call.not_found(name))?;
    if call.path.resource == "pods" {
        let pod = call.view.decoded(&object)?;
        let host: &Value = &pod;
        if text(host, "/spec/nodeName").is_empty() {
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
