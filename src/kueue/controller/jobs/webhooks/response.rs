//! The response of a webhook of jobs.

use crate::jobs::pod_sets_error::PodSetsError;
use kueue_lab_api::field::{FieldErrors, aggregate};

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

impl From<PodSetsError> for Denial {
    fn from(error: PodSetsError) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<FieldErrors> for Denial {
    fn from(errors: FieldErrors) -> Self {
        Self::Fields(errors)
    }
}
