//! How well a flavor serves a request, and which of two ways is better.
//!
//! Must not know of flavors or quota.

use serde::Serialize;

/// How a workload could get what was assigned to it, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum FlavorAssignmentMode {
    /// Not at all for now: there is not enough, and preemption does not help.
    NoFit,
    /// If others went, which they may or may not have to.
    Preempt,
    /// Once others are gone that are going already.
    DeferredFit,
    /// At once, perhaps by borrowing.
    Fit,
}

impl FlavorAssignmentMode {
    /// The name of the mode in events.
    pub fn as_str(self) -> &'static str {
        match self {
            FlavorAssignmentMode::NoFit => "NoFit",
            FlavorAssignmentMode::Preempt => "Preempt",
            FlavorAssignmentMode::DeferredFit => "DeferredFit",
            FlavorAssignmentMode::Fit => "Fit",
        }
    }
}

/// What a simulated preemption found, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum PreemptionPossibility {
    /// Nobody who could be preempted to any avail.
    NoCandidates,
    /// Workloads of the ClusterQueue itself, perhaps among others.
    Preempt,
    /// Only workloads of other ClusterQueues.
    Reclaim,
}

impl PreemptionPossibility {
    /// The name in events.
    pub fn as_str(self) -> &'static str {
        match self {
            PreemptionPossibility::NoCandidates => "NoCandidates",
            PreemptionPossibility::Preempt => "Preempt",
            PreemptionPossibility::Reclaim => "Reclaim",
        }
    }
}

/// A mode with the kind of preemption told apart, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreemptionMode {
    /// Not enough, and preemption does not help.
    NoFit,
    /// Preemption would be allowed, but there is nobody to preempt.
    NoCandidates,
    /// By preempting in the ClusterQueue.
    Preempt,
    /// By preempting others in the cohort only.
    Reclaim,
    /// At once.
    Fit,
}

impl PreemptionMode {
    /// The mode as decisions have it.
    pub fn mode(self) -> FlavorAssignmentMode {
        match self {
            PreemptionMode::NoFit => FlavorAssignmentMode::NoFit,
            PreemptionMode::Fit => FlavorAssignmentMode::Fit,
            _ => FlavorAssignmentMode::Preempt,
        }
    }

    /// What a simulated preemption found, if one was made.
    pub fn possibility(self) -> Option<PreemptionPossibility> {
        match self {
            PreemptionMode::NoCandidates => Some(PreemptionPossibility::NoCandidates),
            PreemptionMode::Preempt => Some(PreemptionPossibility::Preempt),
            PreemptionMode::Reclaim => Some(PreemptionPossibility::Reclaim),
            PreemptionMode::NoFit | PreemptionMode::Fit => None,
        }
    }
}

impl From<PreemptionPossibility> for PreemptionMode {
    fn from(possibility: PreemptionPossibility) -> Self {
        match possibility {
            PreemptionPossibility::NoCandidates => PreemptionMode::NoCandidates,
            PreemptionPossibility::Preempt => PreemptionMode::Preempt,
            PreemptionPossibility::Reclaim => PreemptionMode::Reclaim,
        }
    }
}

/// How well a flavor serves: the kind of preemption it takes, and how far away it borrows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GranularMode {
    /// The kind of preemption.
    pub preemption: PreemptionMode,
    /// The height of the subtree the quota comes from; 0 is the ClusterQueue itself.
    pub borrow: usize,
}

impl GranularMode {
    /// Worse than any other.
    pub const WORST: GranularMode = GranularMode {
        preemption: PreemptionMode::NoFit,
        borrow: usize::MAX,
    };
    /// Better than any other.
    pub const BEST: GranularMode = GranularMode {
        preemption: PreemptionMode::Fit,
        borrow: 0,
    };
}
