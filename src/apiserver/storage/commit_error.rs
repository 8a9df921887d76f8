//! Why a write was not stored.

use std::sync::Arc;

use super::object::Object;

/// Why a commit did not happen. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A create found the key taken.
    #[error("the key exists")]
    KeyExists(Arc<Object>),
    /// An update or removal found nothing under the key.
    #[error("the key does not exist")]
    KeyNotFound,
    /// An update or removal was made for another revision than the present one. Read it again and
    /// retry, or report the conflict.
    #[error("the object has changed")]
    ResourceVersionConflict(Arc<Object>),
    /// The space was closed: its kind is no longer served.
    #[error("the kind is no longer served")]
    Closed,
}
