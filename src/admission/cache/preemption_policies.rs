//! The parts of a ClusterQueue's spec that govern preemption, as the engine reads them.
//!
//! Must not know of workloads.

use kueue_lab_api::v1beta2::{
    BorrowWithinCohortPolicy, ClusterQueuePreemption, ReclaimWithinCohort, WithinClusterQueue,
};

/// Whom a workload may preempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreemptionPolicy {
    /// Not stated, which the API server does not let happen: nobody, though not ruled out.
    #[default]
    Unset,
    /// Nobody.
    Never,
    /// Workloads of lower priority.
    LowerPriority,
    /// Workloads of lower priority, and newer ones of equal priority.
    LowerOrNewerEqualPriority,
    /// Anybody.
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

/// Preempting in the cohort while borrowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BorrowWithinCohort {
    /// Only workloads up to this priority, when set.
    pub max_priority_threshold: Option<i32>,
}

/// The preemption policies of a ClusterQueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreemptionPolicies {
    /// Among the workloads of the ClusterQueue itself.
    pub within_cluster_queue: PreemptionPolicy,
    /// Among those of its cohort that use more than their quota.
    pub reclaim_within_cohort: PreemptionPolicy,
    /// Whether it may still borrow when it preempts in the cohort; none means no.
    pub borrow_within_cohort: Option<BorrowWithinCohort>,
}

impl PreemptionPolicies {
    /// Reads the spec; a ClusterQueue that states nothing preempts nobody.
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
