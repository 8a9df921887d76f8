//! The policy that allows a preemption, and the annotation of its candidates.

use crate::constants::preempted;
use crate::v1beta2::ClusterQueuePreemption;

/// The annotation of the Event of a preemption with its candidates as JSON. Events of upstream
/// Kueue do not have it.
pub const CANDIDATES_ANNOTATION: &str = "kueue-lab.dev/preemption-candidates";

impl ClusterQueuePreemption {
    /// The policy of the preemptor's ClusterQueue that allows preemptions for a reason, such as
    /// `reclaimWithinCohort: Any`; empty for other reasons.
    pub fn policy_for(&self, reason: &str) -> String {
        match reason {
            preempted::IN_CLUSTER_QUEUE => {
                format!("withinClusterQueue: {}", self.within_cluster_queue())
            }
            preempted::IN_COHORT_RECLAMATION => {
                format!("reclaimWithinCohort: {}", self.reclaim_within_cohort())
            }
            preempted::IN_COHORT_RECLAIM_WHILE_BORROWING => {
                let borrow = self.borrow_within_cohort.as_ref();
                let threshold = borrow
                    .and_then(|b| b.max_priority_threshold)
                    .map_or_else(String::new, |t| format!(" up to priority {t}"));
                format!(
                    "borrowWithinCohort: {}{threshold}",
                    self.borrow_within_cohort()
                )
            }
            preempted::IN_COHORT_FAIR_SHARING => format!(
                "fair sharing, reclaimWithinCohort: {}",
                self.reclaim_within_cohort()
            ),
            _ => String::new(),
        }
    }
}
