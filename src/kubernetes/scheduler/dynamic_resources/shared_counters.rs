//! [`AvailableCounters`]: the counters of pools that their devices share (partitionable devices).

use std::collections::HashMap;

use k8s_openapi::api::resource::v1::{Counter, Device};
use kueue_lab_quantity::Quantity;

use super::device_pools::{DeviceId, NodePool};
use super::device_selection::Candidate;

/// Driver and name of a pool, counter set and counter.
type CounterKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The available counters of the pools of a node, without those of devices in use.
pub(super) struct AvailableCounters<'a>(HashMap<CounterKey<'a>, Quantity>);

impl<'a> AvailableCounters<'a> {
    /// The counters of pools without those of devices in use, also of other nodes.
    pub(super) fn new(pools: &[NodePool<'a>], is_in_use: impl Fn(&DeviceId) -> bool) -> Self {
        let mut available = HashMap::new();
        for pool in pools.iter().filter(|pool| pool.has_counters) {
            let slices = pool.all_slices.iter().map(|slice| &slice.slice.spec);
            for set in slices.flat_map(|spec| spec.shared_counters.iter().flatten()) {
                for (name, counter) in &set.counters {
                    let key = (pool.driver, pool.name, &*set.name, &**name);
                    available.insert(key, amount(counter));
                }
            }
            for device in pool.all_slices.iter().flat_map(|slice| slice.devices()) {
                let id = DeviceId {
                    driver: pool.driver.to_owned(),
                    pool: pool.name.to_owned(),
                    device: device.name.clone(),
                };
                if !is_in_use(&id) {
                    continue;
                }
                for (set, name, consumed) in consumed_counters(device) {
                    if let Some(left) = available.get_mut(&(pool.driver, pool.name, set, name)) {
                        *left -= consumed;
                    }
                }
            }
        }
        Self(available)
    }

    /// Whether they suffice for one more device beside those that were chosen.
    pub(super) fn suffice(&self, candidate: &Candidate<'_>, chosen: &[&Candidate<'_>]) -> bool {
        let (driver, pool) = (&*candidate.id.driver, &*candidate.id.pool);
        let of_pool = |other: &&&Candidate<'_>| other.id.driver == driver && other.id.pool == pool;
        let of_pool: Vec<_> = chosen.iter().filter(of_pool).collect();
        consumed_counters(candidate.device).all(|(set, name, wanted)| {
            let others = of_pool.iter().flat_map(|other| {
                consumed_counters(other.device)
                    .filter(|(s, n, _)| (*s, *n) == (set, name))
                    .map(|(_, _, consumed)| consumed)
            });
            let needed = wanted + others.sum();
            let available = self.0.iter();
            let mut available = available.filter(|(key, _)| **key == (driver, pool, set, name));
            available.next().is_none_or(|(_, left)| needed <= *left)
        })
    }
}

/// Counter set, counter and amount of each counter that a device consumes.
fn consumed_counters(device: &Device) -> impl Iterator<Item = (&str, &str, Quantity)> {
    let sets = device.consumes_counters.iter().flatten();
    sets.flat_map(|set| {
        let counters = set.counters.iter();
        counters.map(|(name, counter)| (&*set.counter_set, &**name, amount(counter)))
    })
}

fn amount(counter: &Counter) -> Quantity {
    Quantity::parse(&counter.value.0).unwrap_or_default()
}
