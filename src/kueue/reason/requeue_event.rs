//! [`InadmissibleState`]: since when a workload is inadmissible, and the events that requeue it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The state of a workload that no cycle evaluates until an event requeues it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InadmissibleState {
    /// The time at which it became inadmissible; none if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The time at which it is requeued, if an event has requested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requeued_at: Option<Timestamp>,
    /// The events that requeue it.
    pub requeued_by: Vec<RequeueEvent>,
}

/// The ClusterQueues whose events requeue the inadmissible workloads of one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequeueScope {
    /// A ClusterQueue without cohort.
    ClusterQueue(String),
    /// All ClusterQueues below a root Cohort.
    Cohort(String),
}

/// A kind of event that requeues an inadmissible workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum RequeueEvent {
    /// A workload finishes, is evicted, deactivated or deleted, or needs fewer pods.
    QuotaReleased {
        /// Where.
        scope: RequeueScope,
    },
    /// The spec of a ClusterQueue or Cohort changes.
    QueueChanged {
        /// Where.
        scope: RequeueScope,
    },
    /// A ResourceFlavor or AdmissionCheck of the ClusterQueue changes.
    FlavorChanged {
        /// The ClusterQueue.
        cluster_queue: String,
    },
    /// A Topology, a Node or its free capacity changes.
    NodesChanged,
    /// The labels of its namespace change, so that the ClusterQueue selects it.
    NamespaceSelected {
        /// The namespace.
        namespace: String,
    },
    /// Its requeue backoff ends.
    BackoffEnds {
        /// The time.
        at: Timestamp,
    },
    /// Its spec, reclaimable pods, or conditions Evicted and Requeued change.
    WorkloadChanged,
}
