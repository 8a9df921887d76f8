//! Assignment modes of a flavor.
//!
//! Must not depend on flavors or quota.

use serde::{Deserialize, Serialize};

/// The mode of an assignment, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FlavorAssignmentMode {
    /// It does not fit, and preemption does not help.
    NoFit,
    /// It may fit after preemption.
    Preempt,
    /// It fits once preemptions in progress complete.
    DeferredFit,
    /// It fits, possibly by borrowing.
    Fit,
}

impl FlavorAssignmentMode {
    /// The name in Events.
    pub fn as_str(self) -> &'static str {
        match self {
            FlavorAssignmentMode::NoFit => "NoFit",
            FlavorAssignmentMode::Preempt => "Preempt",
            FlavorAssignmentMode::DeferredFit => "DeferredFit",
            FlavorAssignmentMode::Fit => "Fit",
        }
    }
}

/// The result of a simulated preemption, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PreemptionPossibility {
    /// No candidates.
    NoCandidates,
    /// Candidates in the ClusterQueue, possibly among others.
    Preempt,
    /// Candidates in other ClusterQueues only.
    Reclaim,
}

impl PreemptionPossibility {
    /// The name in Events.
    pub fn as_str(self) -> &'static str {
        match self {
            PreemptionPossibility::NoCandidates => "NoCandidates",
            PreemptionPossibility::Preempt => "Preempt",
            PreemptionPossibility::Reclaim => "Reclaim",
        }
    }
}

/// The assignment mode with the kind of preemption, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreemptionMode {
    /// It does not fit, and preemption does not help.
    NoFit,
    /// Preemption is allowed, but there are no candidates.
    NoCandidates,
    /// Preemption within the ClusterQueue.
    Preempt,
    /// Preemption of other ClusterQueues of the cohort only.
    Reclaim,
    /// It fits.
    Fit,
}

impl PreemptionMode {
    /// The assignment mode.
    pub fn mode(self) -> FlavorAssignmentMode {
        match self {
            PreemptionMode::NoFit => FlavorAssignmentMode::NoFit,
            PreemptionMode::Fit => FlavorAssignmentMode::Fit,
            _ => FlavorAssignmentMode::Preempt,
        }
    }

    /// The result of the simulated preemption, if there was one.
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

/// The mode of a flavor: the kind of preemption, and the borrowing level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GranularMode {
    /// The kind of preemption.
    pub preemption: PreemptionMode,
    /// The height of the subtree that provides the quota; 0 is the ClusterQueue itself.
    pub borrow: usize,
}

impl GranularMode {
    /// The worst mode.
    pub(crate) const WORST: GranularMode = GranularMode {
        preemption: PreemptionMode::NoFit,
        borrow: usize::MAX,
    };
    /// The best mode.
    pub(crate) const BEST: GranularMode = GranularMode {
        preemption: PreemptionMode::Fit,
        borrow: 0,
    };
}
