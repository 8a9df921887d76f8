//! Errors of commits.

use std::sync::Arc;

use super::object::Object;
use super::persistence::PersistenceError;

/// The reason a commit failed. The store is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Create: the key exists.
    #[error("the key exists")]
    KeyExists(Arc<Object>),
    /// Update or delete: the key does not exist.
    #[error("the key does not exist")]
    KeyNotFound,
    /// Update or delete: the stored object has another revision than the expected one. The caller
    /// reads it again and retries, or returns a conflict.
    #[error("the object has changed")]
    ResourceVersionConflict(Arc<Object>),
    /// The storage is closed: its kind is no longer served.
    #[error("the kind is no longer served")]
    Closed,
    /// Writes cannot be made durable at present.
    #[error("{0}")]
    NotDurable(PersistenceError),
}
