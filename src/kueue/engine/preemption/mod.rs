//! Preemption: the workloads to preempt so that another one fits, classical or by fair sharing.
//! Upstream's `pkg/scheduler/preemption`.
//!
//! Only searches; does not evict. Must not depend on queues.

mod candidates_ordering;
mod classical_preemption;
mod evaluated_candidates;
mod fair_sharing_preemption;
mod preemption_oracle;
mod preemption_policy;
mod preemption_search;
mod preemption_variant;
mod target;
mod target_cluster_queue_ordering;

pub use candidates_ordering::{Candidate, sort_candidates};
pub use preemption_oracle::Oracle;
pub(crate) use preemption_policy::{PreemptorRank, least_preemptor_rank, preemptor_rank};

pub use kueue_lab_reason::{CandidateOutcome, PreemptionReason, PreemptionVariant};
pub use preemption_search::PreemptionSearch;
pub use target::{
    EvaluatedCandidate, FlavorResourceShortage, PreemptionShortage, SharesCompared, Target, Victims,
};
