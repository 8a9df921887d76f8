//! The request to a webhook of jobs and its response.

use kueue_lab_api::field::{FieldErrors, aggregate};
use serde_json::Value;

/// What happens to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It is new.
    Create,
    /// It changes.
    Update,
    /// It goes.
    Delete,
}

/// A write that is asked about.
#[derive(Clone, Copy, Debug)]
pub struct WebhookRequest<'a> {
    /// Kind of the object.
    pub kind: &'a str,
    /// API group, empty for core.
    pub group: &'a str,
    /// Namespace of the object; it may not have one itself yet.
    pub namespace: &'a str,
    /// What happens.
    pub operation: Operation,
    /// The object as it was, for updates.
    pub old: Option<&'a Value>,
}

/// Texts for the person who writes, where the write is let through.
pub type Warnings = Vec<String>;

/// Why a write is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Fields are wrong.
    #[error("{}", aggregate(.0))]
    Fields(FieldErrors),
    /// Another reason; a sentence.
    #[error("{0}")]
    Other(String),
}

impl From<FieldErrors> for Denial {
    fn from(errors: FieldErrors) -> Self {
        Self::Fields(errors)
    }
}
