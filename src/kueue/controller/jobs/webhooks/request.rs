//! The request to a webhook of jobs and its response.

use serde_json::Value;

use kueue_lab_api::field::{FieldErrors, aggregate};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Create.
    Create,
    /// Update.
    Update,
    /// Delete.
    Delete,
}

/// An admission request.
#[derive(Clone, Copy, Debug)]
pub struct WebhookRequest<'a> {
    /// Kind of the object.
    pub kind: &'a str,
    /// API group, empty for core.
    pub group: &'a str,
    /// Namespace of the request; `metadata.namespace` may be empty.
    pub namespace: &'a str,
    /// The operation.
    pub operation: Operation,
    /// The old object of an update.
    pub old: Option<&'a Value>,
}

/// Warnings of an allowed request.
pub type Warnings = Vec<String>;

/// The reason a request is denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Invalid fields.
    #[error("{}", aggregate(.0))]
    Fields(FieldErrors),
    /// Another reason, as a message.
    #[error("{0}")]
    Other(String),
}

impl From<FieldErrors> for Denial {
    fn from(errors: FieldErrors) -> Self {
        Self::Fields(errors)
    }
}
