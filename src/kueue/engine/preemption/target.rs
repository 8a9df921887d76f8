//! Preemption targets with their reasons, and the outcomes of the other candidates.
//!
//! Must not depend on how targets are found.

use serde::{Deserialize, Serialize};

use crate::cache::WorkloadIndex;
use crate::config::PreemptionStrategy;
use crate::resources::{Amount, FlavorResourceId};
use kueue_lab_reason::{CandidateOutcome, PreemptionReason, PreemptionVariant};

/// A preemption target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The workload.
    pub idx: WorkloadIndex,
    /// The reason; none for the slice that the preemptor replaces.
    pub reason: Option<PreemptionReason>,
}

/// A preemption candidate that was evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluatedCandidate {
    /// The workload.
    pub idx: WorkloadIndex,
    /// Its preemption variant.
    pub variant: PreemptionVariant,
    /// Its outcome.
    pub outcome: CandidateOutcome,
    /// The compared shares, if any.
    pub shares: Option<SharesCompared>,
}

impl EvaluatedCandidate {
    /// A candidate that the search has not reached.
    pub(super) fn not_reached(idx: WorkloadIndex, variant: PreemptionVariant) -> Self {
        Self {
            idx,
            variant,
            outcome: CandidateOutcome::NotReached,
            shares: None,
        }
    }
}

/// The shares compared for a candidate: weighted, in thousandths; none means infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharesCompared {
    /// The strategy.
    pub strategy: PreemptionStrategy,
    /// The share of the preemptor with its workload.
    pub preemptor: Option<f64>,
    /// The share of the candidate's ClusterQueue or cohort.
    pub before: Option<f64>,
    /// The same without the candidate, if the strategy compares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
}

/// Why the preemption of all candidates that are allowed does not suffice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptionShortage {
    /// The number of candidates that would be preempted.
    pub targets: usize,
    /// Whether the preemptor may borrow.
    pub borrowing: bool,
    /// The flavor resources that are missing after the preemption. Empty when the quota suffices
    /// and no topology assignment is found.
    pub flavor_resources: Vec<FlavorResourceShortage>,
}

/// The shortage of a flavor resource after the preemption of all candidates that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlavorResourceShortage {
    /// The flavor resource.
    pub fr: FlavorResourceId,
    /// The quota that the preemption adds to the available quota.
    pub freed: Amount,
    /// The missing quota.
    pub missing: Amount,
}

/// The result of a search for preemption targets.
#[derive(Clone, Debug, Default)]
pub struct Victims {
    /// The targets; empty when preemption does not help.
    pub targets: Vec<Target>,
    /// The evaluated candidates, in order.
    pub evaluated_candidates: Vec<EvaluatedCandidate>,
    /// Why no targets were found; none when there are targets or no candidates.
    pub shortage: Option<PreemptionShortage>,
}
