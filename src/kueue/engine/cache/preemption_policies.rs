//! The preemption policies of a ClusterQueue.
//!
//! Must not depend on workloads.

use kueue_lab_api::v1beta2::{
    BorrowWithinCohortPolicy, ClusterQueuePreemption, ReclaimWithinCohort, WithinClusterQueue,
};

/// A preemption policy: the workloads that may be preempted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreemptionPolicy {
    /// Not set, which API defaulting prevents: none, but distinct from Never.
    #[default]
    Unset,
    /// None.
    Never,
    /// Workloads of lower priority.
    LowerPriority,
    /// Workloads of lower priority, and newer ones of equal priority.
    LowerOrNewerEqualPriority,
    /// All.
    Any,
}

impl From<WithinClusterQueue> for PreemptionPolicy {
    fn from(policy: WithinClusterQueue) -> Self {
        match policy {
            WithinClusterQueue::Never => PreemptionPolicy::Never,
            WithinClusterQueue::LowerPriority => PreemptionPolicy::LowerPriority,
            WithinClusterQueue::LowerOrNewerEqualPriority => {
                PreemptionPolicy::LowerOrNewerEqualPriority
            }
        }
    }
}

impl From<ReclaimWithinCohort> for PreemptionPolicy {
    fn from(policy: ReclaimWithinCohort) -> Self {
        match policy {
            ReclaimWithinCohort::Never => PreemptionPolicy::Never,
            ReclaimWithinCohort::LowerPriority => PreemptionPolicy::LowerPriority,
            ReclaimWithinCohort::Any => PreemptionPolicy::Any,
        }
    }
}

/// `borrowWithinCohort`: preemption in the cohort while borrowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BorrowWithinCohort {
    /// The maximum priority of preempted workloads, if set.
    pub max_priority_threshold: Option<i32>,
}

/// The preemption policies of a ClusterQueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreemptionPolicies {
    /// Within the ClusterQueue.
    pub within_cluster_queue: PreemptionPolicy,
    /// In the cohort, of workloads whose ClusterQueue borrows.
    pub reclaim_within_cohort: PreemptionPolicy,
    /// Whether preemption in the cohort may borrow; none means never.
    pub borrow_within_cohort: Option<BorrowWithinCohort>,
}

impl PreemptionPolicies {
    /// Converts the API object; without policies, nothing is preempted.
    pub fn from_spec(spec: Option<&ClusterQueuePreemption>) -> Self {
        let Some(spec) = spec else {
            return PreemptionPolicies {
                within_cluster_queue: PreemptionPolicy::Never,
                reclaim_within_cohort: PreemptionPolicy::Never,
                borrow_within_cohort: None,
            };
        };
        let borrow = spec.borrow_within_cohort.as_ref();
        let borrow = borrow.filter(|b| b.policy != Some(BorrowWithinCohortPolicy::Never));
        PreemptionPolicies {
            within_cluster_queue: spec
                .within_cluster_queue
                .map_or(PreemptionPolicy::Unset, PreemptionPolicy::from),
            reclaim_within_cohort: spec
                .reclaim_within_cohort
                .map_or(PreemptionPolicy::Unset, PreemptionPolicy::from),
            borrow_within_cohort: borrow.map(|b| BorrowWithinCohort {
                max_priority_threshold: b.max_priority_threshold,
            }),
        }
    }
}
