//! [`PendingWorkloads`]: the active and the inadmissible workloads of one ClusterQueue.
//!
//! Workloads are kept by scheduling hash, so that moving all workloads of a hash is one operation.
//! Must not depend on when workloads move.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::equivalence_class::{Before, EquivalenceClass, QueuedWorkload};
use super::equivalence_class_tree::ClassPosition;
use super::no_fit_classes::NoFitClasses;
use crate::hash_map::FastHashMap;
use crate::heap::{Heap, Item};
use crate::workload::{EquivalenceHash, Info, QueueOrderKey, WorkloadKey};

/// Active workloads by queue order, and inadmissible ones. A workload is in one of the two.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingWorkloads {
    /// Non-empty classes by the order of their first workload.
    active: Heap<EquivalenceClass>,
    inadmissible: BTreeMap<EquivalenceHash, EquivalenceClass>,
    /// Further inadmissible classes, whose retries are skipped. Those that are requeued are only
    /// marked; [`PendingWorkloads::restore`] makes them active.
    no_fit: Option<NoFitClasses>,
    /// The scheduling hash of each workload's class.
    hashes: FastHashMap<WorkloadKey, EquivalenceHash>,
    inadmissible_count: usize,
}

/// The retries of a ClusterQueue that the next cycles evaluate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NextRetries {
    /// The number of classes that are evaluated first and are certain not to fit.
    pub(crate) no_fit: usize,
    /// Whether another class is evaluated after them.
    pub(crate) more: bool,
    /// The head of a StrictFIFO queue, if it is certain not to fit.
    pub(crate) blocked: Option<WorkloadKey>,
}

fn has(class: &EquivalenceClass, workload: Option<&WorkloadKey>) -> bool {
    workload.is_some_and(|key| class.get(key).is_some())
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
        let hash = self.hashes.get(key)?;
        let no_fit = self.no_fit.as_ref().and_then(|no_fit| no_fit.get(*hash));
        let classes = self.inadmissible.get(hash).into_iter().chain(no_fit);
        classes.into_iter().find_map(|class| class.get(key))
    }

    /// The scheduling hash of a workload.
    pub(crate) fn hash_of(&self, key: &WorkloadKey) -> Option<EquivalenceHash> {
        self.hashes.get(key).copied()
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
        let no_fit = self.no_fit.iter().flat_map(NoFitClasses::iter);
        let classes = self.inadmissible.values().chain(no_fit);
        classes.flat_map(EquivalenceClass::iter)
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
    /// `namespace_matches` and none has a backoff, otherwise the workloads that `may_requeue`.
    /// `reordered` is whether their order may have changed meanwhile. Returns how many.
    pub(crate) fn move_inadmissible_to_active(
        &mut self,
        namespace_matches: impl Fn(&str) -> bool,
        may_requeue: impl Fn(&Info) -> bool,
        reordered: bool,
        before: Before<'_>,
    ) -> usize {
        let mut moved = 0;
        if let Some(no_fit) = &mut self.no_fit {
            no_fit.tree().requeue_all();
        }
        for (hash, mut class) in std::mem::take(&mut self.inadmissible) {
            if class.can_requeue_all(&namespace_matches) {
                moved += class.len();
                if reordered {
                    class.rebuild(before);
                }
                self.push_active_class(class, before);
                continue;
            }
            let (go, stay): (Vec<_>, Vec<_>) =
                class.into_items().partition(|info| may_requeue(info));
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
            + self
                .no_fit
                .as_mut()
                .map_or(0, |no_fit| no_fit.tree().requeued())
    }

    /// Makes a class active.
    fn push_active_class(&mut self, class: EquivalenceClass, before: Before<'_>) {
        let class = match self.active.remove(class.key(), class_before(before)) {
            Some(active) => class.merged(active, before),
            None => class,
        };
        self.active.push_or_update(class, class_before(before));
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

/// Classes whose retries are skipped.
impl PendingWorkloads {
    /// Skips retries from now on. Each class has `width` numbers.
    pub(crate) fn skip_retries(&mut self, width: usize, before: Before<'_>) {
        self.restore_all(before);
        self.no_fit = Some(NoFitClasses::new(width));
    }

    /// Records the numbers of a scheduling hash that did not fit, of which the workload `key` was
    /// evaluated.
    pub(crate) fn record_no_fit(
        &mut self,
        key: &WorkloadKey,
        hash: EquivalenceHash,
        numbers: Arc<[i64]>,
    ) {
        if let Some(no_fit) = &mut self.no_fit {
            no_fit.record(hash, key.namespace(), numbers);
        }
    }

    /// Skips retries of an inadmissible class, if its numbers are known. Retries of the class of a
    /// `preemptor` that is before all others are not skipped.
    pub(crate) fn set_no_fit(&mut self, hash: EquivalenceHash, preemptor: Option<&WorkloadKey>) {
        let Some(no_fit) = &mut self.no_fit else {
            return;
        };
        let class = self.inadmissible.get(&hash);
        if class.is_some_and(|class| no_fit.accepts(class) && !has(class, preemptor))
            && no_fit.get(hash).is_none()
            && let Some(class) = self.inadmissible.remove(&hash)
            && let Some(class) = no_fit.insert(class, false)
        {
            self.inadmissible.insert(hash, class);
        }
    }

    /// Ends the skipping of retries of a class: it becomes active if it is requeued, which is the
    /// result, else inadmissible. None for other classes.
    pub(crate) fn restore(&mut self, hash: EquivalenceHash, before: Before<'_>) -> Option<bool> {
        let (class, requeued) = self.no_fit.as_mut()?.remove(hash)?;
        if requeued {
            self.inadmissible_count -= class.len();
            self.push_active_class(class, before);
            return Some(true);
        }
        let class = match self.inadmissible.remove(&hash) {
            Some(more) => class.merged(more, before),
            None => class,
        };
        self.inadmissible.insert(hash, class);
        Some(false)
    }

    /// Ends the skipping of retries of all classes.
    fn restore_all(&mut self, before: Before<'_>) {
        let no_fit = self.no_fit.iter().flat_map(NoFitClasses::iter);
        let hashes: Vec<EquivalenceHash> = no_fit.map(|class| *class.key()).collect();
        for hash in hashes {
            self.restore(hash, before);
        }
    }

    /// The first active workload.
    pub(crate) fn head(&self) -> Option<&Arc<Info>> {
        let head = self.active.first().and_then(EquivalenceClass::first)?;
        Some(&head.info)
    }

    /// Whether a class is one whose retries are skipped.
    pub(crate) fn is_no_fit(&self, hash: EquivalenceHash) -> bool {
        let no_fit = self.no_fit.as_ref();
        no_fit.is_some_and(|no_fit| no_fit.get(hash).is_some())
    }

    /// The order key of the first class whose retries are skipped, if any is requeued.
    pub(crate) fn first_no_fit(&mut self) -> Option<QueueOrderKey> {
        let tree = self.no_fit.as_mut()?.tree();
        tree.first_key().filter(|_| tree.requeued() > 0)
    }

    /// Marks the first active classes whose numbers are known as requeued ones instead.
    pub(crate) fn mark_active_no_fit(
        &mut self,
        preemptor: Option<&WorkloadKey>,
        before: Before<'_>,
    ) {
        while let Some(class) = self.active.first()
            && let Some(no_fit) = &mut self.no_fit
            && no_fit.accepts(class)
            && no_fit.get(*class.key()).is_none()
            && !self.inadmissible.contains_key(class.key())
            && !has(class, preemptor)
            && let Some(class) = self.active.pop(class_before(before))
        {
            let count = class.len();
            match no_fit.insert(class, true) {
                None => self.inadmissible_count += count,
                Some(class) => {
                    self.active.push_or_update(class, class_before(before));
                    return;
                }
            }
        }
    }

    /// The classes that the next cycles evaluate. A class may fit if its order key and its numbers
    /// pass a test.
    pub(crate) fn next_retries(
        &mut self,
        may_fit: &impl Fn(QueueOrderKey, &[i64]) -> bool,
        preemptor: Option<&WorkloadKey>,
    ) -> NextRetries {
        let head = self.active.first().and_then(EquivalenceClass::first);
        let head = head.map(|queued| queued.info.clone());
        let Some(no_fit) = &mut self.no_fit else {
            return NextRetries {
                no_fit: 0,
                more: head.is_some(),
                blocked: None,
            };
        };
        let tree = no_fit.tree();
        let before_head = head.map(|info| match preemptor == Some(&info.key) {
            true => 0,
            false => tree.requeued_before(&ClassPosition(info)),
        });
        let before_fit = tree.requeued_before_passing(may_fit);
        let next = before_head.into_iter().chain(before_fit).min();
        NextRetries {
            no_fit: next.unwrap_or(tree.requeued()),
            more: next.is_some(),
            blocked: None,
        }
    }

    /// Whether an active workload is before all requeued classes.
    pub(crate) fn has_active_head(&mut self, preemptor: Option<&WorkloadKey>) -> bool {
        let Some(head) = self.head().cloned() else {
            return false;
        };
        let tree = self.no_fit.as_mut().map(NoFitClasses::tree);
        preemptor == Some(&head.key)
            || tree.is_none_or(|tree| tree.requeued_before(&ClassPosition(head)) == 0)
    }

    /// The first active workload with the numbers of its class, if they are known.
    pub(crate) fn head_numbers(&self) -> Option<(&Arc<Info>, &[i64])> {
        let (no_fit, class) = self.no_fit.as_ref().zip(self.active.first())?;
        let numbers = no_fit
            .numbers(*class.key())
            .filter(|_| no_fit.accepts(class))?;
        Some((&class.first()?.info, numbers))
    }

    /// Unmarks the first requeued classes, as if they were evaluated. If the next one is before all
    /// active ones, it becomes active.
    pub(crate) fn unmark(&mut self, classes: usize, before: Before<'_>) {
        let Some(no_fit) = &mut self.no_fit else {
            return;
        };
        no_fit.tree().unmark(classes);
        let Some((hash, position)) = no_fit.tree().first() else {
            return;
        };
        let next = QueuedWorkload::from(position.0.clone());
        let head = self.active.first().and_then(EquivalenceClass::first);
        if head.is_none_or(|head| before(&next, head)) {
            self.restore(hash, before);
        }
    }
}
