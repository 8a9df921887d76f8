//! When a pending workload may evict others, and in which order flavors are tried before it does.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::cel;

wire_enum! {
    /// Which workloads may be preempted for a pending one of the same ClusterQueue.
    WithinClusterQueue {
        /// None.
        Never = "Never",
        /// Those of lower priority.
        LowerPriority = "LowerPriority",
        /// Those of lower priority, and those of equal priority that are newer.
        LowerOrNewerEqualPriority = "LowerOrNewerEqualPriority",
    }
}

wire_enum! {
    /// Which workloads of the cohort's other ClusterQueues may be preempted to take back quota they
    /// borrowed.
    ReclaimWithinCohort {
        /// None.
        Never = "Never",
        /// Those of lower priority.
        LowerPriority = "LowerPriority",
        /// Any, whatever their priority.
        Any = "Any",
    }
}

wire_enum! {
    /// Whether a workload that has to borrow may preempt in other ClusterQueues.
    BorrowWithinCohortPolicy {
        /// It may not.
        Never = "Never",
        /// It may, but only what has lower priority.
        LowerPriority = "LowerPriority",
    }
}

/// Preemption by a workload that borrows. Classical preemption only, not with fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BorrowWithinCohort {
    /// Whether it is allowed at all. Default `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "Never")))]
    pub policy: Option<BorrowWithinCohortPolicy>,
    /// Only workloads up to this priority, inclusive, may be preempted; without it, any that the
    /// policy allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_priority_threshold: Option<i32>,
}

impl BorrowWithinCohort {
    /// The policy in force.
    pub fn policy(&self) -> BorrowWithinCohortPolicy {
        self.policy.unwrap_or(BorrowWithinCohortPolicy::Never)
    }
}

/// The preemption policies of a ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) &&  self.borrowWithinCohort.policy != 'Never')",
    "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
)]))))]
pub struct ClusterQueuePreemption {
    /// Whom to preempt in other ClusterQueues of the cohort that use more than their nominal quota.
    /// Default `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "Never")))]
    pub reclaim_within_cohort: Option<ReclaimWithinCohort>,
    /// Whether a workload that borrows may preempt in the cohort.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = serde_json::json!({}))))]
    pub borrow_within_cohort: Option<BorrowWithinCohort>,
    /// Whom to preempt in the same ClusterQueue. Default `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "Never")))]
    pub within_cluster_queue: Option<WithinClusterQueue>,
}

impl ClusterQueuePreemption {
    /// The reclaim policy in force.
    pub fn reclaim_within_cohort(&self) -> ReclaimWithinCohort {
        self.reclaim_within_cohort
            .unwrap_or(ReclaimWithinCohort::Never)
    }

    /// The policy within the ClusterQueue in force.
    pub fn within_cluster_queue(&self) -> WithinClusterQueue {
        self.within_cluster_queue
            .unwrap_or(WithinClusterQueue::Never)
    }

    /// The policy for borrowers in force.
    pub fn borrow_within_cohort(&self) -> BorrowWithinCohortPolicy {
        self.borrow_within_cohort
            .as_ref()
            .map_or(BorrowWithinCohortPolicy::Never, BorrowWithinCohort::policy)
    }
}

wire_enum! {
    /// What the search over flavors does when the one at hand would need borrowing or preemption.
    FlavorFungibilityPolicy {
        /// Take it and stop searching.
        MayStopSearch = "MayStopSearch",
        /// See whether a later flavor does without.
        TryNextFlavor = "TryNextFlavor",
    }
}

wire_enum! {
    /// What is the lesser evil when every flavor needs borrowing or preemption.
    FlavorFungibilityPreference {
        /// Rather borrow than preempt.
        BorrowingOverPreemption = "BorrowingOverPreemption",
        /// Rather preempt than borrow.
        PreemptionOverBorrowing = "PreemptionOverBorrowing",
    }
}

/// Whether to go on to the next flavor before borrowing or preempting in the current one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
    "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
)]))))]
pub struct FlavorFungibility {
    /// What to do where the workload fits by borrowing. Default `MayStopSearch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "MayStopSearch")))]
    pub when_can_borrow: Option<FlavorFungibilityPolicy>,
    /// What to do where the workload fits after preemption. Default `TryNextFlavor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "TryNextFlavor")))]
    pub when_can_preempt: Option<FlavorFungibilityPolicy>,
    /// Which of the two to prefer. Only when both policies above are `TryNextFlavor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preference: Option<FlavorFungibilityPreference>,
}

impl FlavorFungibility {
    /// The borrowing policy in force.
    pub fn when_can_borrow(&self) -> FlavorFungibilityPolicy {
        self.when_can_borrow
            .unwrap_or(FlavorFungibilityPolicy::MayStopSearch)
    }

    /// The preemption policy in force.
    pub fn when_can_preempt(&self) -> FlavorFungibilityPolicy {
        self.when_can_preempt
            .unwrap_or(FlavorFungibilityPolicy::TryNextFlavor)
    }
}
