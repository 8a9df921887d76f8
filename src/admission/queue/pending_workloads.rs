//! [`PendingWorkloads`]: the active and the inadmissible workloads of one ClusterQueue.
//!
//! Workloads are kept by scheduling hash, so that moving all workloads of a hash is one operation.
//! Must not know when workloads move.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::equivalence_class::{Before, EquivalenceClass};
use crate::hash_map::FastHashMap;
use crate::heap::Heap;
use crate::workload::{EquivalenceHash, Info, WorkloadKey};

/// Active workloads by queue order, and inadmissible ones. A workload is in one of the two.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingWorkloads {
    /// Non-empty classes by the order of their first workload.
    active: Heap<EquivalenceClass>,
    inadmissible: BTreeMap<EquivalenceHash, EquivalenceClass>,
    /// The scheduling hash of each workload's class.
    hashes: FastHashMap<WorkloadKey, EquivalenceHash>,
    inadmissible_count: usize,
}

fn class_before(before: Before<'_>) -> impl Fn(&EquivalenceClass, &EquivalenceClass) -> bool {
    move |a, b| match (a.first(), b.first()) {
        (Some(a), Some(b)) => before(a, b),
        (first, _) => first.is_some(),
    }
}

/// Lookups.
impl PendingWorkloads {
    /// The workload, if it is active.
    pub fn active(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.active.get(self.hashes.get(key)?)?.get(key)
    }

    /// The workload, if it is inadmissible.
    pub fn inadmissible(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.inadmissible.get(self.hashes.get(key)?)?.get(key)
    }

    /// The workload, active or inadmissible.
    pub fn get(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.active(key).or_else(|| self.inadmissible(key))
    }

    /// The number of active workloads.
    pub fn active_count(&self) -> usize {
        self.hashes.len() - self.inadmissible_count
    }

    /// The number of inadmissible workloads.
    pub fn inadmissible_count(&self) -> usize {
        self.inadmissible_count
    }

    /// The active workloads, in no particular order.
    pub fn iter_active(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.active.iter().flat_map(EquivalenceClass::iter)
    }

    /// The inadmissible workloads, in no particular order.
    pub fn iter_inadmissible(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.inadmissible.values().flat_map(EquivalenceClass::iter)
    }

    /// Whether a workload of this scheduling hash is active.
    pub fn has_active_hash(&self, shape: EquivalenceHash) -> bool {
        self.active.get(&shape).is_some()
    }

    /// The number of known scheduling hashes of active and of inadmissible workloads.
    pub fn scheduling_hash_counts(&self) -> (usize, usize) {
        let unknown = EquivalenceHash::Unknown;
        let active = self.active.len() - usize::from(self.has_active_hash(unknown));
        let parked =
            self.inadmissible.len() - usize::from(self.inadmissible.contains_key(&unknown));
        (active, parked)
    }
}

/// Single workloads.
impl PendingWorkloads {
    /// Adds a workload as active, or updates it, active or inadmissible.
    pub fn push_or_update_active(&mut self, info: Arc<Info>, before: Before<'_>) {
        let shape = info.scheduling_hash;
        match self.hashes.insert(info.key.clone(), shape) {
            Some(old) if old == shape && self.active(&info.key).is_some() => {}
            Some(old) => {
                self.take_from(&info.key, old, before);
            }
            None => {}
        }
        self.push_active(info, before);
    }

    fn push_active(&mut self, info: Arc<Info>, before: Before<'_>) {
        let shape = info.scheduling_hash;
        if self.active.get(&shape).is_some() {
            self.active.change(
                &shape,
                |a| a.push_or_update(info, before),
                class_before(before),
            );
        } else {
            let mut alike = EquivalenceClass::new(shape);
            alike.push_or_update(info, before);
            self.active.push_or_update(alike, class_before(before));
        }
    }

    /// Adds a workload as inadmissible, or updates it, active or inadmissible.
    pub fn insert_inadmissible(&mut self, info: Arc<Info>, before: Before<'_>) {
        let shape = info.scheduling_hash;
        if let Some(old) = self.hashes.insert(info.key.clone(), shape) {
            self.take_from(&info.key, old, before);
        }
        let parked = self.inadmissible.entry(shape);
        let parked = parked.or_insert_with(|| EquivalenceClass::new(shape));
        parked.push_or_update(info, before);
        self.inadmissible_count += 1;
    }

    fn take_from(
        &mut self,
        key: &WorkloadKey,
        shape: EquivalenceHash,
        before: Before<'_>,
    ) -> Option<Arc<Info>> {
        if let Some(alike) = self.active.get(&shape)
            && alike.get(key).is_some()
        {
            if alike.len() == 1 {
                return self
                    .active
                    .remove(&shape, class_before(before))?
                    .pop(before);
            }
            let take = |alike: &mut EquivalenceClass| alike.remove(key, before);
            return self.active.change(&shape, take, class_before(before))?;
        }
        let parked = self.inadmissible.get_mut(&shape)?;
        let info = parked.remove(key, before)?;
        if parked.is_empty() {
            self.inadmissible.remove(&shape);
        }
        self.inadmissible_count -= 1;
        Some(info)
    }

    /// Removes a workload.
    pub fn remove(&mut self, key: &WorkloadKey, before: Before<'_>) -> Option<Arc<Info>> {
        let shape = self.hashes.remove(key)?;
        self.take_from(key, shape, before)
    }

    /// Pops the first active workload.
    pub fn pop(&mut self, before: Before<'_>) -> Option<Arc<Info>> {
        let popped = if self.active.first()?.len() == 1 {
            self.active.pop(class_before(before))?.pop(before)
        } else {
            let pop = |first: &mut EquivalenceClass| first.pop(before);
            self.active.change_first(pop, class_before(before))?
        }?;
        self.hashes.remove(&popped.key);
        Some(popped)
    }

    /// Moves an inadmissible workload to the active ones.
    pub fn move_to_active(&mut self, key: &WorkloadKey, before: Before<'_>) -> bool {
        let Some(info) = self.inadmissible(key).cloned() else {
            return false;
        };
        self.push_or_update_active(info, before);
        true
    }
}

/// Whole scheduling hashes.
impl PendingWorkloads {
    /// Moves all workloads of a scheduling hash to the inadmissible ones; returns how many.
    pub fn move_hash_to_inadmissible(
        &mut self,
        shape: EquivalenceHash,
        before: Before<'_>,
    ) -> usize {
        let Some(alike) = self.active.remove(&shape, class_before(before)) else {
            return 0;
        };
        let count = alike.len();
        let alike = match self.inadmissible.remove(&shape) {
            Some(parked) => alike.merged(parked, before),
            None => alike,
        };
        self.inadmissible.insert(shape, alike);
        self.inadmissible_count += count;
        count
    }

    /// Moves inadmissible workloads to the active ones: whole classes if all their namespaces match
    /// `takes` and none has a backoff, otherwise the workloads that `may_go`. `reordered` is
    /// whether their order may have changed meanwhile. Returns how many.
    pub fn move_inadmissible_to_active(
        &mut self,
        takes: impl Fn(&str) -> bool,
        may_go: impl Fn(&Info) -> bool,
        reordered: bool,
        before: Before<'_>,
    ) -> usize {
        let mut moved = 0;
        for (shape, mut alike) in std::mem::take(&mut self.inadmissible) {
            if alike.can_requeue_all(&takes) {
                moved += alike.len();
                if reordered {
                    alike.rebuild(before);
                }
                let alike = match self.active.remove(&shape, class_before(before)) {
                    Some(active) => alike.merged(active, before),
                    None => alike,
                };
                self.active.push_or_update(alike, class_before(before));
                continue;
            }
            let (go, stay): (Vec<_>, Vec<_>) = alike.into_items().partition(|info| may_go(info));
            moved += go.len();
            for info in go {
                self.push_active(info, before);
            }
            if !stay.is_empty() {
                let mut alike = EquivalenceClass::new(shape);
                stay.into_iter()
                    .for_each(|info| alike.push_or_update(info, before));
                self.inadmissible.insert(shape, alike);
            }
        }
        self.inadmissible_count -= moved;
        moved
    }

    /// Rebuilds the heap of active workloads after the order changed for many.
    pub fn rebuild(&mut self, before: Before<'_>) {
        let active = std::mem::take(&mut self.active);
        for mut alike in active.into_items() {
            alike.rebuild(before);
            self.active.push_or_update(alike, class_before(before));
        }
    }

    /// Moves a workload after its order key changed.
    pub fn reorder(&mut self, key: &WorkloadKey, before: Before<'_>) {
        let Some(&shape) = self.hashes.get(key) else {
            return;
        };
        let reorder = |alike: &mut EquivalenceClass| alike.reorder(key, before);
        self.active.change(&shape, reorder, class_before(before));
        if let Some(alike) = self.inadmissible.get_mut(&shape) {
            alike.reorder(key, before);
        }
    }
}
