//! Objects on their way to storage, with etcd's limit of their size.

use serde_json::Value;

use crate::storage::PendingObject;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// The maximum size of a stored object, etcd's `--max-request-bytes`, in bytes.
const MAX_SIZE: usize = 3 << 19;

/// An object to store.
///
/// # Errors
/// 500 as etcd words it when the object is too large.
pub(super) fn pending_object(object: Value) -> Result<PendingObject, ApiError> {
    let pending = PendingObject::new(object).map_err(|e| ApiError::internal(e.to_string()))?;
    if pending.size() > MAX_SIZE {
        return Err(ApiError::new(
            500,
            StatusReason::Unknown,
            "etcdserver: request is too large",
        ));
    }
    Ok(pending)
}
