//! [`JobError`]: a failed reconciliation of a job.

use super::leader_worker_set::ReplicaCountError;
use super::pod_set_info::{FlavorNotFoundError, PodSetInfoError};
use super::pod_set_topology_request::TopologyRequestError;
use super::pod_sets_error::PodSetsError;
use super::pods::PodGroupError;
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
    /// The pod sets cannot be built; retried with backoff.
    #[error(transparent)]
    PodSets(#[from] PodSetsError),
    /// A flavor of the admission does not exist; retried with backoff.
    #[error(transparent)]
    FlavorNotFound(#[from] FlavorNotFoundError),
    /// A label or annotation of a pod group is not valid; retried with backoff.
    #[error(transparent)]
    PodGroup(#[from] PodGroupError),
    /// The number of groups of a LeaderWorkerSet is out of range; retried with backoff.
    #[error(transparent)]
    ReplicaCount(#[from] ReplicaCountError),
    /// Another failure; retried with backoff.
    #[error("{0}")]
    Retryable(String),
}

impl From<TopologyRequestError> for JobError {
    fn from(error: TopologyRequestError) -> Self {
        Self::PodSets(error.into())
    }
}

impl From<PodSetInfoError> for JobError {
    fn from(error: PodSetInfoError) -> Self {
        match error {
            error @ (PodSetInfoError::JobSet(_) | PodSetInfoError::NoRuntimePatch) => {
                Self::Retryable(error.to_string())
            }
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
