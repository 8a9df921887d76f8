//! Who may preempt whom, by priority and age.

use crate::cache::Policy;
use crate::workload::Rank;

/// Whether a policy lets `preemptor` preempt `candidate`.
pub fn allows(policy: Policy, preemptor: Rank, candidate: Rank) -> bool {
    let lower = preemptor.priority > candidate.priority;
    match policy {
        Policy::Unset | Policy::Never => false,
        Policy::Any => true,
        Policy::LowerPriority => lower,
        Policy::LowerOrNewerEqualPriority => {
            lower
                || (preemptor.priority == candidate.priority
                    && preemptor.queue_timestamp < candidate.queue_timestamp)
        }
    }
}
