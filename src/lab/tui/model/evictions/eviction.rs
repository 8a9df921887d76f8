//! An eviction.

use jiff::Timestamp;

use crate::model::ObjectKey;
use crate::model::meta::Requests;
use kueue_lab_api::constants::{evicted, preempted};

/// The evicted workload or the preemptor of an eviction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InvolvedWorkload {
    /// UID of the Workload.
    pub uid: String,
    /// Namespace and name; an empty name if unknown.
    pub key: ObjectKey,
    /// Its owner, as `kind/name`.
    pub owner: String,
    /// Its ClusterQueue.
    pub cluster_queue: String,
    /// The path of its ClusterQueue in the cohort tree.
    pub path: String,
    /// Its priority at the time.
    pub priority: Option<i64>,
    /// Its requests.
    pub requests: Requests,
}

impl InvolvedWorkload {
    /// The name, or a prefix of the UID.
    pub(crate) fn display_name(&self) -> String {
        if self.key.name.is_empty() {
            format!("workload {}", self.uid.get(..8).unwrap_or(&self.uid))
        } else {
            self.key.to_string()
        }
    }
}

/// An eviction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Eviction {
    /// Its time.
    pub at: Timestamp,
    /// The evicted workload.
    pub evicted: InvolvedWorkload,
    /// The preemptor, for a preemption.
    pub preemptor: Option<InvolvedWorkload>,
    /// Reason of the Preempted condition, or else of the Evicted condition.
    pub reason: String,
    /// The preemption policy that allowed it.
    pub policy: String,
    /// The message of the condition.
    pub message: String,
}

impl Eviction {
    /// The reason as text; that of a preemption as in upstream's `HumanReadablePreemptionReasons`.
    pub(crate) fn reason_text(&self) -> &str {
        match self.reason.as_str() {
            preempted::IN_CLUSTER_QUEUE => "prioritization in the ClusterQueue",
            preempted::IN_COHORT_RECLAMATION => "reclamation within the cohort",
            preempted::IN_COHORT_FAIR_SHARING => "Fair Sharing within the cohort",
            preempted::IN_COHORT_RECLAIM_WHILE_BORROWING => {
                "reclamation within the cohort while borrowing"
            }
            evicted::PREEMPTED => "preemption",
            evicted::PODS_READY_TIMEOUT => "pods not ready",
            evicted::ADMISSION_CHECK => "admission check",
            evicted::CLUSTER_QUEUE_STOPPED => "ClusterQueue stopped",
            evicted::LOCAL_QUEUE_STOPPED => "LocalQueue stopped",
            evicted::NODE_FAILURES => "node failures",
            evicted::FLAVOR_MIGRATION => "better flavor",
            other if other.starts_with(evicted::DEACTIVATED) => "deactivated",
            other => other,
        }
    }
}
