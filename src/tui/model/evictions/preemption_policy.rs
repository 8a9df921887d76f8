//! The preemption policy that allowed a preemption.

use super::Eviction;
use crate::model::queues::ClusterQueueRow;
use crate::model::store::Store;
use kueue_lab_api::constants::preempted;

/// The current preemption policy of the ClusterQueue of the preemptor that allows the preemption.
pub(super) fn preemption_policy(entry: &Eviction, queues: &Store<ClusterQueueRow>) -> String {
    let Some(p) = &entry.preemptor else {
        return String::new();
    };
    let Some(cq) = queues.named(&p.cluster_queue) else {
        return String::new();
    };
    let rules = &cq.preemption;
    match entry.reason.as_str() {
        preempted::IN_CLUSTER_QUEUE => {
            format!("withinClusterQueue: {}", rules.within_cluster_queue())
        }
        preempted::IN_COHORT_RECLAMATION => {
            format!("reclaimWithinCohort: {}", rules.reclaim_within_cohort())
        }
        preempted::IN_COHORT_RECLAIM_WHILE_BORROWING => {
            let threshold = rules
                .borrow_within_cohort
                .as_ref()
                .and_then(|b| b.max_priority_threshold)
                .map(|t| format!(" up to priority {t}"))
                .unwrap_or_default();
            format!(
                "borrowWithinCohort: {}{threshold}",
                rules.borrow_within_cohort()
            )
        }
        preempted::IN_COHORT_FAIR_SHARING => format!(
            "fair sharing, reclaimWithinCohort: {}",
            rules.reclaim_within_cohort()
        ),
        _ => String::new(),
    }
}
