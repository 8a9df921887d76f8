//! [`classify_preemption_variant`]: why a workload is a preemption candidate, and `borrowWithinCohort`.

use kueue_lab_reason::PreemptionVariant;

use crate::cache::PreemptionPolicies;

/// The preemption variant of a candidate of this priority in another ClusterQueue.
pub(super) fn classify_preemption_variant(
    preemption: PreemptionPolicies,
    preemptor: i64,
    candidate: i64,
) -> PreemptionVariant {
    match preemption.borrow_within_cohort {
        Some(rule)
            if candidate < preemptor
                && rule
                    .max_priority_threshold
                    .is_none_or(|t| candidate <= i64::from(t)) =>
        {
            PreemptionVariant::ReclaimWhileBorrowing
        }
        _ => PreemptionVariant::ReclaimWithoutBorrowing,
    }
}
