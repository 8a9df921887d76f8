//! How well a flavor serves a request, and which of two ways is better.
//!
//! Must not know of flavors or quota.

use serde::Serialize;

use crate::cache::FlavorFungibilityConfig;

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

    /// Whether this way is strictly better than another, by the preference of a ClusterQueue.
    pub fn is_preferred_to(
        self,
        other: GranularMode,
        fungibility: &FlavorFungibilityConfig,
    ) -> bool {
        use PreemptionMode::{NoCandidates, NoFit};
        if self.preemption == NoFit {
            return false;
        }
        if other.preemption == NoFit {
            return true;
        }
        // Without candidates nothing comes of it this time, whatever the preference.
        let hopeless = (
            self.preemption == NoCandidates,
            other.preemption == NoCandidates,
        );
        if hopeless.0 != hopeless.1 {
            return hopeless.1;
        }
        let preempts_less = self.preemption.cmp(&other.preemption);
        let borrows_less = other.borrow.cmp(&self.borrow);
        let better = if fungibility.prefer_less_borrowing {
            borrows_less.then(preempts_less)
        } else {
            preempts_less.then(borrows_less)
        };
        better.is_gt()
    }

    /// Whether the search should go on to the next flavor.
    pub fn should_try_next_flavor(self, fungibility: &FlavorFungibilityConfig) -> bool {
        use PreemptionMode as P;
        match self.preemption {
            P::NoFit | P::NoCandidates => true,
            P::Preempt | P::Reclaim if fungibility.try_next_if_preempting => true,
            _ => self.borrow > 0 && fungibility.try_next_if_borrowing,
        }
    }
}
