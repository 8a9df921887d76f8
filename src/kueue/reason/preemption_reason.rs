//! [`PreemptionReason`]: why a workload is preempted.

use kueue_lab_api::constants::preempted as p;
use serde::{Deserialize, Serialize};

/// The reason of a preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PreemptionReason {
    /// Prioritization in the ClusterQueue.
    InClusterQueue,
    /// Reclamation of nominal quota in the cohort.
    InCohortReclamation,
    /// Fair sharing in the cohort.
    InCohortFairSharing,
    /// Reclamation in the cohort while borrowing.
    InCohortReclaimWhileBorrowing,
}

impl PreemptionReason {
    /// All reasons.
    pub const ALL: [Self; 4] = [
        Self::InClusterQueue,
        Self::InCohortReclamation,
        Self::InCohortFairSharing,
        Self::InCohortReclaimWhileBorrowing,
    ];

    /// The reason of the Preempted condition.
    pub fn as_str(self) -> &'static str {
        match self {
            PreemptionReason::InClusterQueue => p::IN_CLUSTER_QUEUE,
            PreemptionReason::InCohortReclamation => p::IN_COHORT_RECLAMATION,
            PreemptionReason::InCohortFairSharing => p::IN_COHORT_FAIR_SHARING,
            PreemptionReason::InCohortReclaimWhileBorrowing => p::IN_COHORT_RECLAIM_WHILE_BORROWING,
        }
    }
}
