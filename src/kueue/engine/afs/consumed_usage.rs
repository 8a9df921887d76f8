//! Consumed usage of LocalQueues: exponential decay, and the weighted number that orders
//! LocalQueues.

use jiff::SignedDuration;

use crate::config::AdmissionFairSharing;
use crate::fair_weight::fair_weight;
use crate::kube::pod_requests::ExactList;
use crate::resources::{Decimal, ResourceName};
use kueue_lab_api::v1beta2::LocalQueue;

/// The fair sharing weight of a LocalQueue, 1 by default.
pub fn local_queue_weight(queue: &LocalQueue) -> f64 {
    fair_weight(queue.spec.fair_sharing.as_ref())
}

/// The consumed usage after the time `elapsed`, during which `current` was used.
pub(crate) fn calculate_decayed_consumed(
    old_usage: &ExactList,
    current: &ExactList,
    elapsed: SignedDuration,
    config: &AdmissionFairSharing,
) -> ExactList {
    let elapsed = elapsed.as_secs_f64().max(0.0);
    let alpha = alpha(elapsed, config.usage_half_life.as_secs_f64());
    sum(&scaled(old_usage, 1.0 - alpha), &scaled(current, alpha))
}

/// The fair sharing usage of a LocalQueue: a [`weighted_sum`] divided by the weight of the
/// LocalQueue. Infinite when that is not positive.
pub(super) fn calculate_usage(weighted_sum: f64, weight: f64) -> f64 {
    if weight <= 0.0 {
        return f64::INFINITY;
    }
    weighted_sum / weight
}

/// Consumed usage and pending penalties, multiplied by the resource weights.
pub(super) fn weighted_sum(
    consumed: &ExactList,
    penalty: &ExactList,
    config: &AdmissionFairSharing,
) -> f64 {
    let mut all: Vec<(ResourceName, Decimal)> = sum(consumed, penalty).into_iter().collect();
    all.sort_by_key(|(name, _)| name.as_str());
    let weighted = all.iter().map(|(name, quantity)| {
        config.resource_weights.get(name).copied().unwrap_or(1.0) * quantity.as_f64()
    });
    // Floating point addition depends on the order.
    weighted.fold(0.0, |total, v| total + v)
}

/// The factor of the newest sample in the exponential moving average.
pub(super) fn alpha(elapsed: f64, half_life: f64) -> f64 {
    if half_life == 0.0 {
        0.0
    } else {
        1.0 - 0.5f64.powf(elapsed / half_life)
    }
}

/// Multiplies all quantities, truncating to nanos.
pub(super) fn scaled(list: &ExactList, factor: f64) -> ExactList {
    list.iter()
        .map(|(&name, q)| (name, q.times_f64(factor)))
        .collect()
}

/// Adds resource lists.
pub fn sum(a: &ExactList, b: &ExactList) -> ExactList {
    let mut total = a.clone();
    for (&name, &quantity) in b {
        let sum = total.entry(name).or_default();
        *sum = sum.plus(quantity);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::afs::test_fixtures::{config, cpu};

    #[test]
    fn usage_halves_over_the_half_life() {
        let now = calculate_decayed_consumed(
            &cpu("8"),
            &ExactList::new(),
            SignedDuration::from_secs(600),
            &config(600),
        );
        assert_eq!(now, cpu("4"));
        let steady = calculate_decayed_consumed(
            &cpu("8"),
            &cpu("8"),
            SignedDuration::from_secs(77),
            &config(600),
        );
        assert!((steady[&ResourceName::cpu()].as_f64() - 8.0).abs() < 1e-6);
    }

    #[test]
    fn zero_weight_sorts_last() {
        let c = config(300);
        let usage = weighted_sum(&cpu("2"), &cpu("1"), &c);
        assert_eq!(calculate_usage(usage, 0.0), f64::INFINITY);
        assert_eq!(calculate_usage(usage, 2.0), 1.5);
    }
}
