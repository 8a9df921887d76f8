//! Victims, the reasons they are victims for, and what became of the other candidates.
//!
//! Must not know how victims are found.

use serde::Serialize;

use crate::cache::WorkloadIndex;
use crate::config::PreemptionStrategy;
use kueue_lab_api::constants::preempted as p;

/// Why a workload is preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum PreemptionReason {
    /// The preemptor goes first in their ClusterQueue.
    InClusterQueue,
    /// The preemptor has the better right to the quota.
    InCohortReclamation,
    /// The preemptor has the lower share.
    InCohortFairSharing,
    /// The preemptor has the higher priority, though both borrow.
    InCohortReclaimWhileBorrowing,
}

impl PreemptionReason {
    /// The reason of the Preempted condition.
    pub fn as_str(self) -> &'static str {
        match self {
            PreemptionReason::InClusterQueue => p::IN_CLUSTER_QUEUE,
            PreemptionReason::InCohortReclamation => p::IN_COHORT_RECLAMATION,
            PreemptionReason::InCohortFairSharing => p::IN_COHORT_FAIR_SHARING,
            PreemptionReason::InCohortReclaimWhileBorrowing => p::IN_COHORT_RECLAIM_WHILE_BORROWING,
        }
    }

    /// The reason as messages word it.
    pub fn human_readable(self) -> &'static str {
        match self {
            PreemptionReason::InClusterQueue => "prioritization in the ClusterQueue",
            PreemptionReason::InCohortReclamation => "reclamation within the cohort",
            PreemptionReason::InCohortFairSharing => "Fair Sharing within the cohort",
            PreemptionReason::InCohortReclaimWhileBorrowing => {
                "reclamation within the cohort while borrowing"
            }
        }
    }
}

/// A workload that has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The workload.
    pub idx: WorkloadIndex,
    /// Why it; none for the slice that the workload itself replaces.
    pub reason: Option<PreemptionReason>,
}

/// On what ground a workload may be preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PreemptionVariant {
    /// It is in the ClusterQueue of the preemptor.
    WithinClusterQueue,
    /// The preemptor's quota is closer to the quota it uses.
    HierarchicalReclaim,
    /// Its ClusterQueue uses more than its quota, and the preemptor's would not afterwards.
    ReclaimWithoutBorrowing,
    /// Its ClusterQueue uses more than its quota, and its priority is low enough.
    ReclaimWhileBorrowing,
    /// Its ClusterQueue borrows, and shares are compared.
    FairSharing,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CandidateOutcome {
    /// It has to go.
    Victim,
    /// It was a victim for a while, but the others suffice.
    Spared,
    /// It was not allowed when its turn came: its ClusterQueue or cohort no longer used more than
    /// its quota, or the preemptor would have borrowed.
    NotAllowed,
    /// The shares did not allow it.
    ShareTooLow,
    /// Its turn did not come.
    NotReached,
}

/// A workload that was looked at as a victim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluatedCandidate {
    /// The workload.
    pub idx: WorkloadIndex,
    /// On what ground.
    pub variant: PreemptionVariant,
    /// What became of it.
    pub outcome: CandidateOutcome,
    /// The shares that were compared for it, if any.
    pub shares: Option<SharesCompared>,
}

/// The shares fair sharing compared to decide on a candidate, by weight and in thousandths; none
/// stands for an infinite one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharesCompared {
    /// The rule they were compared by.
    pub strategy: PreemptionStrategy,
    /// The preemptor's side, with the workload.
    pub preemptor: Option<f64>,
    /// The candidate's side as it stood.
    pub before: Option<f64>,
    /// The candidate's side without the candidate, where the rule looks at that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
}

/// What a search for victims found.
#[derive(Clone, Debug, Default)]
pub struct Victims {
    /// The workloads that have to go; none when preemption is of no avail.
    pub targets: Vec<Target>,
    /// Everybody looked at, in order.
    pub evaluated_candidates: Vec<EvaluatedCandidate>,
}
