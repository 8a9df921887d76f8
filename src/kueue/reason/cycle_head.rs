//! [`CycleHead`]: a head of a scheduling cycle that has not begun, and what the cycle does with it.

use serde::{Deserialize, Serialize};

use crate::PendingReason;

/// A head of a scheduling cycle, with the decision that the cycle takes if it begins now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CycleHead {
    /// The workload, by namespace and name.
    pub workload: String,
    /// Its ClusterQueue.
    pub cluster_queue: String,
    /// Its priority.
    pub priority: i64,
    /// The decision.
    pub outcome: HeadOutcome,
}

/// What a scheduling cycle does with a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum HeadOutcome {
    /// Quota is reserved for it.
    Admits {
        /// Its flavors, each once, in the order of its pod sets and their resources.
        flavors: Vec<String>,
        /// Whether it borrows.
        borrows: bool,
    },
    /// Workloads are preempted for it. It is evaluated again when they have released their quota.
    Preempts {
        /// The preempted workloads, by namespace and name.
        targets: Vec<String>,
    },
    /// It is requeued.
    Waits {
        /// Why it is not admitted.
        reason: PendingReason,
    },
}
