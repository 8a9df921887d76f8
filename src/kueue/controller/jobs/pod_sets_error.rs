//! [`PodSetsError`]: the pod sets of a job cannot be built.

use super::app_wrapper_pod_sets::AppWrapperPodSetError;
use super::child_job_set::ChildJobSetError;
use super::pod_set_topology_request::TopologyRequestError;
use super::spark_pod_template::SparkQuantityError;

/// Why the pod sets of a job cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PodSetsError {
    /// A topology annotation of a pod template.
    #[error(transparent)]
    TopologyRequest(#[from] TopologyRequestError),
    /// A wrapped object of an AppWrapper.
    #[error(transparent)]
    AppWrapper(#[from] AppWrapperPodSetError),
    /// The runtime of a TrainJob.
    #[error(transparent)]
    TrainJob(#[from] ChildJobSetError),
    /// A quantity of a SparkApplication.
    #[error(transparent)]
    SparkApplication(#[from] SparkQuantityError),
    /// A RayJob has no cluster.
    #[error("spec.rayClusterSpec is not set")]
    NoRayClusterSpec,
    /// The head of a Ray cluster with fault tolerance has no container.
    #[error(
        "cannot account for Redis cleanup resources: head pod template must include the Ray container"
    )]
    NoRayContainer,
}
