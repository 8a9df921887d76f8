//! Writes to durable storage: a response is sent when the write is durable.

use std::future::Future;

use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::restore;
use crate::storage::PersistenceError;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// Handles a write and waits until it is durable.
///
/// # Errors
/// Those of the write; 507 `InsufficientStorage` when the disk is full, 500 when it fails
/// otherwise. Nothing of the write is stored then.
pub(super) async fn dispatch_durably(
    call: &RequestContext<'_>,
    write: impl Future<Output = Result<ApiResponse, ApiError>>,
) -> Result<ApiResponse, ApiError> {
    match call.core.store.durably(write).await {
        Ok(outcome) => outcome,
        Err(error) => {
            restore::sync_derived_state(call.core, &call.served);
            Err(persistence_error(&error))
        }
    }
}

fn persistence_error(error: &PersistenceError) -> ApiError {
    match error {
        PersistenceError::Full(message) => {
            ApiError::new(507, StatusReason::InsufficientStorage, message)
        }
        PersistenceError::Failed(message) => ApiError::internal(message.clone()),
    }
}
