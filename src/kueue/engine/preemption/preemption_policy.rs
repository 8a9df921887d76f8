//! Preemption policies: by priority and queue order timestamp.

use std::cmp::Reverse;

use jiff::Timestamp;

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

/// The position of a preemptor in the queue order, which decides what it may preempt.
pub(crate) type PreemptorRank = (i64, Reverse<Timestamp>);

/// The rank of a preemptor.
pub(crate) fn preemptor_rank(preemptor: QueueOrderKey) -> PreemptorRank {
    (preemptor.priority, Reverse(preemptor.queue_timestamp))
}

/// A lower bound on the rank of the preemptors that a policy allows to preempt `candidate`; none if
/// it allows no preemptor.
pub(crate) fn least_preemptor_rank(
    policy: PreemptionPolicy,
    candidate: QueueOrderKey,
) -> Option<PreemptorRank> {
    let last = Reverse(Timestamp::MAX);
    match policy {
        PreemptionPolicy::Unset | PreemptionPolicy::Never => None,
        PreemptionPolicy::Any => Some((i64::MIN, last)),
        PreemptionPolicy::LowerPriority => Some((candidate.priority.saturating_add(1), last)),
        PreemptionPolicy::LowerOrNewerEqualPriority => Some(preemptor_rank(candidate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_allows_no_preemptor_below_the_least_rank() {
        use PreemptionPolicy as P;
        let keys: Vec<QueueOrderKey> = (-1..=1)
            .flat_map(|priority| (0..3).map(move |second| (priority, second)))
            .map(|(priority, second)| QueueOrderKey {
                priority,
                queue_timestamp: Timestamp::from_second(second).unwrap(),
            })
            .collect();
        let policies = [
            P::Unset,
            P::Never,
            P::LowerPriority,
            P::LowerOrNewerEqualPriority,
            P::Any,
        ];
        for policy in policies {
            for &candidate in &keys {
                let least = least_preemptor_rank(policy, candidate);
                for &preemptor in &keys {
                    let ahead = least.is_some_and(|least| preemptor_rank(preemptor) >= least);
                    let allowed = satisfies_preemption_policy(policy, preemptor, candidate);
                    assert!(
                        ahead || !allowed,
                        "{policy:?}, {preemptor:?}, {candidate:?}"
                    );
                    // The bound is exact except for a workload of the same time.
                    assert!(allowed || !ahead || preemptor == candidate, "{policy:?}");
                }
            }
        }
    }
}
