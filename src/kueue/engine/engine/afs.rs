//! Consumed usage of LocalQueues, for their status and the order of their workloads.

use jiff::{SignedDuration, Timestamp};

use super::{Engine, order_context};
use crate::afs::{UsageLedgerEntry, exact_requests};
use crate::kube::pod_requests::{ExactList, exact};
use crate::resources::ResourceList;
use crate::workload::LocalQueueKey;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// The consumed usage of a LocalQueue, for its status.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumedUsage {
    /// The decayed usage, if it was sampled now; none when the last sample is recent.
    pub sampled: Option<ResourceList>,
    /// The time of the next sample.
    pub next: Timestamp,
}

impl Engine {
    /// Samples the usage of a LocalQueue, unless the last sample is recent and no penalty is
    /// pending. The consumed usage in its status is added once. None while admission fair sharing
    /// is disabled or the LocalQueue is not in the cache.
    pub fn sample_local_queue(
        &mut self,
        key: &LocalQueueKey,
        status: Option<&ResourceList>,
        now: Timestamp,
    ) -> Option<ConsumedUsage> {
        let afs = self.config.afs()?;
        let seed = status.map(exact).unwrap_or_default();
        let known = self.ledger.get(key).is_some();
        match self.ledger.get_mut(key) {
            None => {
                let entry = UsageLedgerEntry::new(seed, now, true);
                self.ledger.set(key.clone(), entry);
            }
            Some(entry) if !entry.status_accounted => {
                entry.consumed = crate::afs::sum(&entry.consumed, &seed);
                entry.status_accounted = true;
            }
            Some(_) => {}
        }
        let interval = SignedDuration::try_from(afs.usage_sampling_interval)
            .unwrap_or(SignedDuration::from_secs(0));
        let after = |t: Timestamp| t.saturating_add(interval).unwrap_or(Timestamp::MAX);
        let last = self.ledger.get(key)?.last_update;
        if known && now < after(last) && !self.ledger.has_pending_penalty(key) {
            return Some(ConsumedUsage {
                sampled: None,
                next: after(last),
            });
        }
        let queue = self.store.local_queues.get(key)?.spec.cluster_queue.clone();
        let consumed = if afs.usage_half_life.is_zero() {
            let entry = self.ledger.get_mut(key)?;
            entry.consumed = ExactList::new();
            entry.last_update = now;
            ExactList::new()
        } else {
            let usage = self.cache.local_queue(&queue, key).ok()?;
            let used = exact_requests(&usage.admitted_by_resource(&self.cache.hierarchy.frs));
            let entry = self.ledger.get_mut(key)?;
            entry.apply_decay(&used, now, afs);
            entry.consumed.clone()
        };
        self.queues.rebuild(&queue, order_context!(self));
        let list = consumed
            .iter()
            .map(|(name, q)| (name.as_str().to_owned(), Quantity(q.to_decimal_si())));
        Some(ConsumedUsage {
            sampled: Some(list.collect()),
            next: after(now),
        })
    }

    /// Whether a LocalQueue has pending penalties.
    pub fn has_pending_penalty(&self, key: &LocalQueueKey) -> bool {
        self.ledger.has_pending_penalty(key)
    }

    /// Replaces the consumed usage of a LocalQueue.
    pub fn set_consumed_usage(&mut self, key: LocalQueueKey, used: &ResourceList, now: Timestamp) {
        let entry = UsageLedgerEntry::new(exact(used), now, true);
        self.ledger.set(key, entry);
    }
}
