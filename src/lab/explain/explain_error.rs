//! [`ExplainError`]: the error of an explanation.

use kueue_lab_cluster::request_error_message;
use kueue_lab_engine::workload::WorkloadKey;

use super::jobs_without_workload::JobWithoutWorkload;

/// The error of an explanation.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The cluster does not serve Kueue's kinds.
    #[error(
        "the cluster does not serve kueue.x-k8s.io/v1beta2; is Kueue installed on it? For a cluster with an older version, start a lab from it with `kueue-lab up --from context:NAME`"
    )]
    NoKueue,
    /// The cluster denied a request, with its message.
    #[error("the cluster denied the request: {0}")]
    Denied(String),
    /// The cluster denied these requests to list objects.
    #[error(
        "the cluster denies these requests: {}; grant the rights to the user (docs/import.md has a ClusterRole)", .0.join(", ")
    )]
    MissingRights(Vec<String>),
    /// A request failed, as [`request_error_message`] says.
    #[error("{0}")]
    Request(String),
    /// No Workload has this name, and none is of a job or Pod with it.
    #[error(
        "there is no Workload {name:?} in namespace {namespace:?}, and no job or Pod {name:?} has one; list them with `kubectl get workloads -A`"
    )]
    NoWorkload {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
    /// The job with this name has no Workload.
    #[error("Kueue creates no Workload for {}: {}", .0.object, .0.reason)]
    JobWithoutWorkload(JobWithoutWorkload),
    /// No ClusterQueue has this name.
    #[error("there is no ClusterQueue {name:?}; {}", known_text(.known))]
    NoClusterQueue {
        /// The name.
        name: String,
        /// The names of the ClusterQueues of the cluster.
        known: Vec<String>,
    },
    /// The Workload was deleted in the meantime.
    #[error("the Workload {0} was deleted")]
    Deleted(WorkloadKey),
}

impl ExplainError {
    /// The error of a failed request for kinds of Kueue.
    pub fn of_request(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status)
                if status.code == 404 && status.message.contains("page not found") =>
            {
                Self::NoKueue
            }
            kube::Error::Api(status) if matches!(status.code, 401 | 403) => {
                Self::Denied(status.message.clone())
            }
            other => Self::Request(request_error_message(other)),
        }
    }

    /// Whether the request of the user is invalid: there is no Kueue, or the user has not the rights.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoKueue | Self::Denied(_) | Self::MissingRights(_)
        )
    }
}

fn known_text(known: &[String]) -> String {
    match known {
        [] => "the cluster has none".to_owned(),
        known => format!("the ClusterQueues are: {}", known.join(", ")),
    }
}
