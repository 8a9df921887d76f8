//! [`CandidateOutcome`]: what became of a preemption candidate, and why it is one.

use serde::{Deserialize, Serialize};

/// The reason of a preemption candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreemptionVariant {
    /// It is in the preemptor's ClusterQueue.
    WithinClusterQueue,
    /// The preemptor has hierarchical advantage over it.
    HierarchicalReclaim,
    /// Its ClusterQueue borrows, and the preemptor's would not borrow.
    ReclaimWithoutBorrowing,
    /// Its ClusterQueue borrows, and its priority is low enough for a preemptor that borrows.
    ReclaimWhileBorrowing,
    /// Its ClusterQueue borrows, and shares are compared.
    FairSharing,
}

/// The outcome of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CandidateOutcome {
    /// It is a preemption target.
    Victim,
    /// It was a target, but was added back, since the other targets suffice.
    Spared,
    /// It was a target, but the preemption of all targets does not suffice.
    Insufficient,
    /// It was no longer valid: its ClusterQueue or cohort was within nominal quota, or the
    /// preemptor would have borrowed.
    NotAllowed,
    /// The fair sharing strategies do not allow it.
    ShareTooLow,
    /// The workload fit before it was considered.
    NotReached,
}
