//! [`JobError`]: why a reconciliation of a job ended before its end.

use super::pod_set_info::PodSetInfoError;
use kueue_lab_runtime::api_errors::is_not_found;

/// Why a reconciliation of a job ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The API server refused or is not there; tried again.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// Something has to change first that brings the job back by itself; not tried again.
    #[error("{0}")]
    Unretryable(String),
    /// What the Workload says cannot be merged into the job, now or ever.
    #[error(transparent)]
    PodSetInfo(#[from] PodSetInfoError),
    /// Something is not as it has to be yet; tried again.
    #[error("{0}")]
    Retryable(String),
}

impl JobError {
    /// Whether the API server said that the object is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Api(error) if is_not_found(error))
    }

    /// Whether the API server said that there is such an object already.
    pub fn is_already_exists(&self) -> bool {
        matches!(self, Self::Api(kube::Error::Api(status)) if status.reason == "AlreadyExists")
    }
}

/// Nothing, where what was to be changed is not there any more.
///
/// # Errors
/// All others.
pub fn ignore_not_found(result: Result<(), JobError>) -> Result<(), JobError> {
    match result {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}
