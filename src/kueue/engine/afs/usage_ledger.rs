//! [`AfsUsageLedger`]: consumed usage and pending entry penalties of every LocalQueue.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jiff::Timestamp;

use super::consumed_usage::{calculate_usage, weighted_sum};
use super::{calculate_decayed_consumed, sum};
use crate::config::AdmissionFairSharing;
use crate::kube::pod_requests::ExactList;
use crate::workload::{LocalQueueKey, WorkloadKey};

/// Consumed usage and pending entry penalties of one LocalQueue.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageLedgerEntry {
    /// Decayed consumed usage.
    pub consumed: ExactList,
    pending: ExactList,
    records: BTreeMap<WorkloadKey, ExactList>,
    /// The time of the last decay.
    pub last_update: Timestamp,
    /// Whether the consumed usage in the status of the LocalQueue is included.
    pub status_accounted: bool,
}

impl UsageLedgerEntry {
    /// An entry with this consumed usage.
    pub fn new(consumed: ExactList, last_update: Timestamp, status_accounted: bool) -> Self {
        UsageLedgerEntry {
            consumed,
            pending: ExactList::new(),
            records: BTreeMap::new(),
            last_update,
            status_accounted,
        }
    }

    /// The sum of the pending entry penalties.
    pub fn pending_penalty(&self) -> &ExactList {
        &self.pending
    }

    /// Removes and returns the penalty of a workload, if there is one. Quantities that become zero
    /// are dropped.
    pub fn remove_penalty(&mut self, workload: &WorkloadKey) -> Option<ExactList> {
        let removed = self.records.remove(workload)?;
        for (name, quantity) in &removed {
            if let Some(total) = self.pending.get_mut(name) {
                *total = total.minus(*quantity);
            }
        }
        self.pending.retain(|_, quantity| !quantity.is_zero());
        Some(removed)
    }

    fn set_penalty(&mut self, workload: &WorkloadKey, penalty: ExactList) {
        self.remove_penalty(workload);
        self.pending = sum(&self.pending, &penalty);
        self.records.insert(workload.clone(), penalty);
    }

    /// Decays the consumed usage until `now`, with `current` in use since the last decay. The time
    /// of the last decay never moves backwards.
    pub(crate) fn apply_decay(
        &mut self,
        current: &ExactList,
        now: Timestamp,
        config: &AdmissionFairSharing,
    ) {
        let elapsed = now.duration_since(self.last_update);
        self.consumed = calculate_decayed_consumed(&self.consumed, current, elapsed, config);
        self.last_update = self.last_update.max(now);
    }
}

/// An entry with its weighted sum, since comparisons of workloads need it more often than it
/// changes.
#[derive(Clone, Debug)]
struct WeighedEntry {
    entry: UsageLedgerEntry,
    /// The weighted sum of the entry, once it is needed.
    weighted_sum: OnceLock<f64>,
}

impl WeighedEntry {
    fn new(entry: UsageLedgerEntry) -> Self {
        WeighedEntry {
            entry,
            weighted_sum: OnceLock::new(),
        }
    }

    /// The entry to be changed.
    fn changed(&mut self) -> &mut UsageLedgerEntry {
        self.weighted_sum.take();
        &mut self.entry
    }

    fn weighted_sum(&self, config: &AdmissionFairSharing) -> f64 {
        let UsageLedgerEntry {
            consumed, pending, ..
        } = &self.entry;
        *self
            .weighted_sum
            .get_or_init(|| weighted_sum(consumed, pending, config))
    }
}

/// Consumed usage and pending entry penalties of every LocalQueue. The configuration is the same in
/// all calls.
#[derive(Clone, Debug, Default)]
pub struct AfsUsageLedger {
    entries: BTreeMap<LocalQueueKey, WeighedEntry>,
}

impl AfsUsageLedger {
    /// The entry of a LocalQueue.
    pub fn get(&self, queue: &LocalQueueKey) -> Option<&UsageLedgerEntry> {
        Some(&self.entries.get(queue)?.entry)
    }

    /// The entry of a LocalQueue, mutably.
    pub fn get_mut(&mut self, queue: &LocalQueueKey) -> Option<&mut UsageLedgerEntry> {
        Some(self.entries.get_mut(queue)?.changed())
    }

    /// Replaces the entry of a LocalQueue.
    pub fn set(&mut self, queue: LocalQueueKey, entry: UsageLedgerEntry) {
        self.entries.insert(queue, WeighedEntry::new(entry));
    }

    /// Deletes the entry of a LocalQueue.
    pub fn delete(&mut self, queue: &LocalQueueKey) {
        self.entries.remove(queue);
    }

    /// Sets the pending penalty of a workload, replacing an earlier one.
    pub fn push_penalty(
        &mut self,
        queue: &LocalQueueKey,
        workload: &WorkloadKey,
        penalty: ExactList,
        now: Timestamp,
    ) {
        self.get_mut_or_empty(queue, now)
            .set_penalty(workload, penalty);
    }

    /// Removes and returns the pending penalty of a workload, if there is one.
    pub fn remove_penalty(
        &mut self,
        queue: &LocalQueueKey,
        workload: &WorkloadKey,
    ) -> Option<ExactList> {
        self.get_mut(queue)?.remove_penalty(workload)
    }

    /// Whether a LocalQueue has pending penalties.
    pub fn has_pending_penalty(&self, queue: &LocalQueueKey) -> bool {
        self.get(queue)
            .is_some_and(|e| e.pending.values().any(|q| !q.is_zero()))
    }

    /// The fair sharing usage of a LocalQueue with this weight.
    pub fn usage(&self, queue: &LocalQueueKey, weight: f64, config: &AdmissionFairSharing) -> f64 {
        let entry = self.entries.get(queue);
        let weighted_sum = entry.map_or(0.0, |entry| entry.weighted_sum(config));
        calculate_usage(weighted_sum, weight)
    }

    /// The entry of a LocalQueue, mutably, without usage if there was none.
    fn get_mut_or_empty(&mut self, queue: &LocalQueueKey, now: Timestamp) -> &mut UsageLedgerEntry {
        let empty = || WeighedEntry::new(UsageLedgerEntry::new(ExactList::new(), now, false));
        let entry = self.entries.entry(queue.clone());
        entry.or_insert_with(empty).changed()
    }

    /// Settles the penalty of an admitted workload: decays the consumed usage with `current` in
    /// use, and adds the pending penalty, if there is one, to it.
    pub(crate) fn subtract_penalty_on_admission(
        &mut self,
        queue: &LocalQueueKey,
        workload: &WorkloadKey,
        current: &ExactList,
        now: Timestamp,
        config: &AdmissionFairSharing,
    ) {
        let entry = self.get_mut_or_empty(queue, now);
        entry.apply_decay(current, now, config);
        if let Some(penalty) = entry.remove_penalty(workload) {
            entry.consumed = sum(&entry.consumed, &penalty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::afs::test_fixtures::config;
    use crate::resources::{Decimal, ResourceName};

    fn list(name: &str, quantity: &str) -> ExactList {
        [(ResourceName::new(name), Decimal::parse(quantity).unwrap())].into()
    }

    #[test]
    fn removing_a_penalty_drops_the_zero_quantities_it_leaves() {
        let mut ledger = AfsUsageLedger::default();
        let queue = LocalQueueKey::new("ns", "lq");
        let (wl1, wl2) = (WorkloadKey::new("ns", "wl1"), WorkloadKey::new("ns", "wl2"));
        let now = Timestamp::UNIX_EPOCH;
        ledger.push_penalty(&queue, &wl1, list("cpu", "2"), now);
        ledger.push_penalty(&queue, &wl2, list("memory", "4Gi"), now);
        assert_eq!(ledger.remove_penalty(&queue, &wl1), Some(list("cpu", "2")));
        let pending =
            |ledger: &AfsUsageLedger| ledger.get(&queue).unwrap().pending_penalty().clone();
        assert_eq!(pending(&ledger), list("memory", "4Gi"));
        assert!(ledger.has_pending_penalty(&queue));
        assert_eq!(ledger.remove_penalty(&queue, &wl1), None);
        ledger.remove_penalty(&queue, &wl2);
        assert!(pending(&ledger).is_empty());
        assert!(!ledger.has_pending_penalty(&queue));
    }

    #[test]
    fn pushing_a_penalty_again_replaces_it() {
        let mut ledger = AfsUsageLedger::default();
        let queue = LocalQueueKey::new("ns", "lq");
        let wl = WorkloadKey::new("ns", "wl");
        let now = Timestamp::UNIX_EPOCH;
        ledger.push_penalty(&queue, &wl, list("cpu", "2"), now);
        ledger.push_penalty(&queue, &wl, list("cpu", "3"), now);
        assert_eq!(
            ledger.get(&queue).map(UsageLedgerEntry::pending_penalty),
            Some(&list("cpu", "3"))
        );
    }

    #[test]
    fn usage_follows_every_change_of_an_entry() {
        let config = config(600);
        let mut ledger = AfsUsageLedger::default();
        let queue = LocalQueueKey::new("ns", "lq");
        let wl = WorkloadKey::new("ns", "wl");
        let now = Timestamp::UNIX_EPOCH;
        let usage = |ledger: &AfsUsageLedger| ledger.usage(&queue, 2.0, &config);
        assert_eq!(usage(&ledger), 0.0);
        ledger.push_penalty(&queue, &wl, list("cpu", "2"), now);
        assert_eq!(usage(&ledger), 1.0);
        ledger.get_mut(&queue).unwrap().consumed = list("cpu", "4");
        assert_eq!(usage(&ledger), 3.0);
        let none = ExactList::new();
        ledger.subtract_penalty_on_admission(&queue, &wl, &none, now, &config);
        assert_eq!(usage(&ledger), 3.0);
        ledger.push_penalty(&queue, &wl, list("cpu", "2"), now);
        assert_eq!(usage(&ledger), 4.0);
        ledger.remove_penalty(&queue, &wl);
        assert_eq!(usage(&ledger), 3.0);
        ledger.set(queue.clone(), UsageLedgerEntry::new(none, now, true));
        assert_eq!(usage(&ledger), 0.0);
    }

    #[test]
    fn removing_a_penalty_creates_no_entry() {
        let mut ledger = AfsUsageLedger::default();
        let queue = LocalQueueKey::new("ns", "lq");
        assert_eq!(
            ledger.remove_penalty(&queue, &WorkloadKey::new("ns", "wl")),
            None
        );
        assert!(ledger.get(&queue).is_none());
    }
}
