//! Preemption policies and flavor fungibility of a ClusterQueue.

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
    /// Which workloads of other ClusterQueues in the cohort may be preempted to reclaim borrowed
    /// quota.
    ReclaimWithinCohort {
        /// None.
        Never = "Never",
        /// Those of lower priority.
        LowerPriority = "LowerPriority",
        /// Any, regardless of priority.
        Any = "Any",
    }
}

wire_enum! {
    /// Whether a workload that borrows may preempt workloads of other ClusterQueues.
    BorrowWithinCohortPolicy {
        /// It may not.
        Never = "Never",
        /// Only workloads of lower priority.
        LowerPriority = "LowerPriority",
    }
}

/// Preemption by a workload that borrows. Classical preemption only, not with fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BorrowWithinCohort {
    /// Whether preemption while borrowing is allowed. Default `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "Never")))]
    pub policy: Option<BorrowWithinCohortPolicy>,
    /// The highest priority, inclusive, of workloads that may be preempted; absent, no threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_priority_threshold: Option<i32>,
}

impl BorrowWithinCohort {
    /// The policy, with its default.
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
    /// Preemption in other ClusterQueues of the cohort that use more than their nominal quota.
    /// Default `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "Never")))]
    pub reclaim_within_cohort: Option<ReclaimWithinCohort>,
    /// Preemption in the cohort by a workload that borrows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = serde_json::json!({}))))]
    pub borrow_within_cohort: Option<BorrowWithinCohort>,
    /// Preemption in the same ClusterQueue. Default `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "Never")))]
    pub within_cluster_queue: Option<WithinClusterQueue>,
}

impl ClusterQueuePreemption {
    /// The reclaim policy, with its default.
    pub fn reclaim_within_cohort(&self) -> ReclaimWithinCohort {
        self.reclaim_within_cohort
            .unwrap_or(ReclaimWithinCohort::Never)
    }

    /// The policy within the ClusterQueue, with its default.
    pub fn within_cluster_queue(&self) -> WithinClusterQueue {
        self.within_cluster_queue
            .unwrap_or(WithinClusterQueue::Never)
    }

    /// The policy while borrowing, with its default.
    pub fn borrow_within_cohort(&self) -> BorrowWithinCohortPolicy {
        self.borrow_within_cohort
            .as_ref()
            .map_or(BorrowWithinCohortPolicy::Never, BorrowWithinCohort::policy)
    }
}

wire_enum! {
    /// What flavor assignment does if the current flavor requires borrowing or preemption.
    FlavorFungibilityPolicy {
        /// Use the current flavor.
        MayStopSearch = "MayStopSearch",
        /// Try the next flavor.
        TryNextFlavor = "TryNextFlavor",
    }
}

wire_enum! {
    /// What is preferred if every flavor requires borrowing or preemption.
    FlavorFungibilityPreference {
        /// Borrowing is preferred to preemption.
        BorrowingOverPreemption = "BorrowingOverPreemption",
        /// Preemption is preferred to borrowing.
        PreemptionOverBorrowing = "PreemptionOverBorrowing",
    }
}

/// Whether to try the next flavor before borrowing or preempting in the current one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
    "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
)]))))]
pub struct FlavorFungibility {
    /// What to do if the workload fits by borrowing. Default `MayStopSearch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "MayStopSearch")))]
    pub when_can_borrow: Option<FlavorFungibilityPolicy>,
    /// What to do if the workload fits after preemption. Default `TryNextFlavor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "TryNextFlavor")))]
    pub when_can_preempt: Option<FlavorFungibilityPolicy>,
    /// Which of the two is preferred. Only if both policies above are `TryNextFlavor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preference: Option<FlavorFungibilityPreference>,
}

impl FlavorFungibility {
    /// The borrowing policy, with its default.
    pub fn when_can_borrow(&self) -> FlavorFungibilityPolicy {
        self.when_can_borrow
            .unwrap_or(FlavorFungibilityPolicy::MayStopSearch)
    }

    /// The preemption policy, with its default.
    pub fn when_can_preempt(&self) -> FlavorFungibilityPolicy {
        self.when_can_preempt
            .unwrap_or(FlavorFungibilityPolicy::TryNextFlavor)
    }
}
