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
    pub(crate) fn active(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.active.get(self.hashes.get(key)?)?.get(key)
    }

    /// The workload, if it is inadmissible.
    pub(crate) fn inadmissible(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.inadmissible.get(self.hashes.get(key)?)?.get(key)
    }

    /// The workload, active or inadmissible.
    pub(crate) fn get(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.active(key).or_else(|| self.inadmissible(key))
    }

    /// The number of active workloads.
    pub(crate) fn active_count(&self) -> usize {
        self.hashes.len() - self.inadmissible_count
    }

    /// The number of inadmissible workloads.
    pub(crate) fn inadmissible_count(&self) -> usize {
        self.inadmissible_count
    }

    /// The active workloads, in no particular order.
    pub(crate) fn iter_active(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.active.iter().flat_map(EquivalenceClass::iter)
    }

    /// The inadmissible workloads, in no particular order.
    pub(crate) fn iter_inadmissible(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.inadmissible.values().flat_map(EquivalenceClass::iter)
    }
}

/// Single workloads.
impl PendingWorkloads {
    /// Adds a workload as active, or updates it, active or inadmissible.
    pub(crate) fn push_or_update_active(&mut self, info: Arc<Info>, before: Before<'_>) {
        let hash = info.scheduling_hash;
        match self.hashes.insert(info.key.clone(), hash) {
            Some(old) if old == hash && self.active(&info.key).is_some() => {}
            Some(old) => {
                self.take_from(&info.key, old, before);
            }
            None => {}
        }
        self.push_active(info, before);
    }

    fn push_active(&mut self, info: Arc<Info>, before: Before<'_>) {
        let hash = info.scheduling_hash;
        if self.active.get(&hash).is_some() {
            self.active.change(
                &hash,
                |a| a.push_or_update(info, before),
                class_before(before),
            );
        } else {
            let mut class = EquivalenceClass::new(hash);
            class.push_or_update(info, before);
            self.active.push_or_update(class, class_before(before));
        }
    }

    /// Adds a workload as inadmissible, or updates it, active or inadmissible.
    pub(crate) fn insert_inadmissible(&mut self, info: Arc<Info>, before: Before<'_>) {
        let hash = info.scheduling_hash;
        if let Some(old) = self.hashes.insert(info.key.clone(), hash) {
            self.take_from(&info.key, old, before);
        }
        let inadmissible = self.inadmissible.entry(hash);
        let inadmissible = inadmissible.or_insert_with(|| EquivalenceClass::new(hash));
        inadmissible.push_or_update(info, before);
        self.inadmissible_count += 1;
    }

    fn take_from(
        &mut self,
        key: &WorkloadKey,
        hash: EquivalenceHash,
        before: Before<'_>,
    ) -> Option<Arc<Info>> {
        if let Some(class) = self.active.get(&hash)
            && class.get(key).is_some()
        {
            if class.len() == 1 {
                return self.active.remove(&hash, class_before(before))?.pop(before);
            }
            let take = |class: &mut EquivalenceClass| class.remove(key, before);
            return self.active.change(&hash, take, class_before(before))?;
        }
        let inadmissible = self.inadmissible.get_mut(&hash)?;
        let info = inadmissible.remove(key, before)?;
        if inadmissible.is_empty() {
            self.inadmissible.remove(&hash);
        }
        self.inadmissible_count -= 1;
        Some(info)
    }

    /// Removes a workload.
    pub(crate) fn remove(&mut self, key: &WorkloadKey, before: Before<'_>) -> Option<Arc<Info>> {
        let hash = self.hashes.remove(key)?;
        self.take_from(key, hash, before)
    }

    /// Pops the first active workload.
    pub(crate) fn pop(&mut self, before: Before<'_>) -> Option<Arc<Info>> {
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
    pub(crate) fn move_to_active(&mut self, key: &WorkloadKey, before: Before<'_>) -> bool {
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
    pub(crate) fn move_hash_to_inadmissible(
        &mut self,
        hash: EquivalenceHash,
        before: Before<'_>,
    ) -> usize {
        let Some(class) = self.active.remove(&hash, class_before(before)) else {
            return 0;
        };
        let count = class.len();
        let class = match self.inadmissible.remove(&hash) {
            Some(inadmissible) => class.merged(inadmissible, before),
            None => class,
        };
        self.inadmissible.insert(hash, class);
        self.inadmissible_count += count;
        count
    }

    /// Moves inadmissible workloads to the active ones: whole classes if all their namespaces match
    /// `takes` and none has a backoff, otherwise the workloads that `may_go`. `reordered` is
    /// whether their order may have changed meanwhile. Returns how many.
    pub(crate) fn move_inadmissible_to_active(
        &mut self,
        takes: impl Fn(&str) -> bool,
        may_go: impl Fn(&Info) -> bool,
        reordered: bool,
        before: Before<'_>,
    ) -> usize {
        let mut moved = 0;
        for (hash, mut class) in std::mem::take(&mut self.inadmissible) {
            if class.can_requeue_all(&takes) {
                moved += class.len();
                if reordered {
                    class.rebuild(before);
                }
                let class = match self.active.remove(&hash, class_before(before)) {
                    Some(active) => class.merged(active, before),
                    None => class,
                };
                self.active.push_or_update(class, class_before(before));
                continue;
            }
            let (go, stay): (Vec<_>, Vec<_>) = class.into_items().partition(|info| may_go(info));
            moved += go.len();
            for info in go {
                self.push_active(info, before);
            }
            if !stay.is_empty() {
                let mut class = EquivalenceClass::new(hash);
                stay.into_iter()
                    .for_each(|info| class.push_or_update(info, before));
                self.inadmissible.insert(hash, class);
            }
        }
        self.inadmissible_count -= moved;
        moved
    }

    /// Rebuilds the heap of active workloads after the order changed for many.
    pub(crate) fn rebuild(&mut self, before: Before<'_>) {
        let active = std::mem::take(&mut self.active);
        for mut class in active.into_items() {
            class.rebuild(before);
            self.active.push_or_update(class, class_before(before));
        }
    }

    /// Moves a workload after its order key changed.
    pub(crate) fn reorder(&mut self, key: &WorkloadKey, before: Before<'_>) {
        let Some(&hash) = self.hashes.get(key) else {
            return;
        };
        let reorder = |class: &mut EquivalenceClass| class.reorder(key, before);
        self.active.change(&hash, reorder, class_before(before));
        if let Some(class) = self.inadmissible.get_mut(&hash) {
            class.reorder(key, before);
        }
    }
}
