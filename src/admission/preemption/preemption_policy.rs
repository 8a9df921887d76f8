//! Preemption policies: by priority and queue order timestamp.

use crate::cache::PreemptionPolicy;
use crate::workload::QueueOrderKey;

/// Whether a policy allows `preemptor` to preempt `candidate`.
pub(crate) fn satisfies_preemption_policy(
    policy: PreemptionPolicy,
    preemptor: QueueOrderKey,
    candidate: QueueOrderKey,
) -> bool {
    let lower = preemptor.priority > candidate.priority;
    match policy {
        PreemptionPolicy::Unset | PreemptionPolicy::Never => false,
        PreemptionPolicy::Any => true,
        PreemptionPolicy::LowerPriority => lower,
        PreemptionPolicy::LowerOrNewerEqualPriority => {
            lower
                || (preemptor.priority == candidate.priority
                    && preemptor.queue_timestamp < candidate.queue_timestamp)
        }
    }
}
