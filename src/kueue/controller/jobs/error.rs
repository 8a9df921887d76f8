//! [`JobError`]: a failed reconciliation of a job.

use super::pod_set_info::PodSetInfoError;
use kueue_lab_controller_runtime::api_errors::is_not_found;

/// A failed reconciliation of a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// A request failed; retried with backoff.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// Not retried: another change enqueues the job.
    #[error("{0}")]
    Unretryable(String),
    /// The Workload conflicts with the pod template; not retried.
    #[error(transparent)]
    PodSetInfo(PodSetInfoError),
    /// Another failure; retried with backoff.
    #[error("{0}")]
    Retryable(String),
}

impl From<PodSetInfoError> for JobError {
    fn from(error: PodSetInfoError) -> Self {
        match error {
            PodSetInfoError::Retryable(message) => Self::Retryable(message),
            error => Self::PodSetInfo(error),
        }
    }
}

impl JobError {
    /// Whether the error is NotFound.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Api(error) if is_not_found(error))
    }

    /// Whether the error is AlreadyExists.
    pub(crate) fn is_already_exists(&self) -> bool {
        matches!(self, Self::Api(kube::Error::Api(status)) if status.reason == "AlreadyExists")
    }
}

/// Ignores NotFound.
///
/// # Errors
/// All others.
pub(crate) fn ignore_not_found(result: Result<(), JobError>) -> Result<(), JobError> {
    match result {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}
