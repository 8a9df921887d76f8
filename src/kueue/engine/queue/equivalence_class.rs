//! [`EquivalenceClass`]: pending workloads with one scheduling hash, which become inadmissible and
//! are requeued together.
//!
//! Must not depend on their state.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::heap::{Heap, Item};
use crate::workload::{
    AssignmentClusterQueueState, EquivalenceHash, Info, QueueOrderKey, WorkloadKey, predicates,
};
use kueue_lab_api::constants as c;

/// A pending workload with its order key inline, so that sorting needs few lookups.
#[derive(Clone, Debug)]
pub(super) struct QueuedWorkload {
    pub order_key: QueueOrderKey,
    pub info: Arc<Info>,
}

impl From<Arc<Info>> for QueuedWorkload {
    fn from(info: Arc<Info>) -> Self {
        QueuedWorkload {
            order_key: info.queue_order_key(),
            info,
        }
    }
}

impl Item for QueuedWorkload {
    type Key = WorkloadKey;

    fn key(&self) -> &WorkloadKey {
        &self.info.key
    }
}

/// Whether one workload is ordered before another.
pub(super) type Before<'a> = &'a dyn Fn(&QueuedWorkload, &QueuedWorkload) -> bool;

/// The workloads of one scheduling hash by queue order, with the counts that decide whether they
/// are requeued together.
#[derive(Clone, Debug)]
pub(super) struct EquivalenceClass {
    hash: EquivalenceHash,
    heap: Heap<QueuedWorkload>,
    /// The number of workloads with a requeue backoff, expired or not.
    backing_off: usize,
    /// The number of workloads with flavors left to try.
    resuming: usize,
    /// The number of workloads by namespace, represented by its first key.
    namespaces: SmallVec<[(WorkloadKey, usize); 1]>,
}

impl Item for EquivalenceClass {
    type Key = EquivalenceHash;

    fn key(&self) -> &EquivalenceHash {
        &self.hash
    }
}

/// Whether the status of a workload has a requeue backoff.
fn has_backoff(info: &Info) -> bool {
    let state = info.obj.status.requeue_state.as_ref();
    state.is_some_and(|s| s.requeue_at.is_some())
        || predicates::false_condition(&info.obj, c::REQUEUED).is_some()
}

/// Whether the next attempt resumes after the last tried flavor.
fn resumes(info: &Info) -> bool {
    let last = info.last_assignment.as_deref();
    last.is_some_and(AssignmentClusterQueueState::pending_flavors)
}

impl EquivalenceClass {
    pub(crate) fn new(hash: EquivalenceHash) -> Self {
        EquivalenceClass {
            hash,
            heap: Heap::default(),
            backing_off: 0,
            resuming: 0,
            namespaces: SmallVec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(crate) fn first(&self) -> Option<&QueuedWorkload> {
        self.heap.first()
    }

    pub(crate) fn get(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.heap.get(key).map(|queued| &queued.info)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.heap.iter().map(|queued| &queued.info)
    }

    pub(crate) fn into_items(self) -> impl Iterator<Item = Arc<Info>> {
        self.heap.into_items().map(|queued| queued.info)
    }

    /// Whether none has a backoff, and all namespaces match.
    pub(crate) fn can_requeue_all(&self, namespace_matches: impl Fn(&str) -> bool) -> bool {
        let mut namespaces = self.namespaces.iter();
        self.backing_off == 0 && namespaces.all(|(key, _)| namespace_matches(key.namespace()))
    }

    /// Whether all workloads can be requeued, and the first of them is evaluated for all flavors.
    pub(crate) fn is_evaluated_as_one(&self, namespace_matches: impl Fn(&str) -> bool) -> bool {
        self.resuming == 0 && self.can_requeue_all(namespace_matches)
    }

    fn count_in(&mut self, info: &Info) {
        self.backing_off += usize::from(has_backoff(info));
        self.resuming += usize::from(resumes(info));
        let namespace = info.key.namespace();
        let mut known = self.namespaces.iter_mut();
        match known.find(|(key, _)| key.namespace() == namespace) {
            Some((_, count)) => *count += 1,
            None => self.namespaces.push((info.key.clone(), 1)),
        }
    }

    fn count_out(&mut self, info: &Info) {
        self.backing_off -= usize::from(has_backoff(info));
        self.resuming -= usize::from(resumes(info));
        let namespace = info.key.namespace();
        let mut known = self.namespaces.iter();
        let Some(i) = known.position(|(key, _)| key.namespace() == namespace) else {
            return;
        };
        self.namespaces[i].1 -= 1;
        if self.namespaces[i].1 == 0 {
            self.namespaces.swap_remove(i);
        }
    }

    /// Adds or updates a workload.
    pub(crate) fn push_or_update(&mut self, info: Arc<Info>, before: Before<'_>) {
        self.count_in(&info);
        let old = self.heap.push_or_update(info.into(), |a, b| before(a, b));
        if let Some(old) = old {
            self.count_out(&old.info);
        }
    }

    pub(crate) fn pop(&mut self, before: Before<'_>) -> Option<Arc<Info>> {
        let popped = self.heap.pop(|a, b| before(a, b))?.info;
        self.count_out(&popped);
        Some(popped)
    }

    pub(crate) fn remove(&mut self, key: &WorkloadKey, before: Before<'_>) -> Option<Arc<Info>> {
        let removed = self.heap.remove(key, |a, b| before(a, b))?.info;
        self.count_out(&removed);
        Some(removed)
    }

    /// Moves a workload after its order key changed.
    pub(crate) fn reorder(&mut self, key: &WorkloadKey, before: Before<'_>) {
        self.heap.change(key, |_| (), |a, b| before(a, b));
    }

    pub(crate) fn rebuild(&mut self, before: Before<'_>) {
        self.heap.rebuild(|a, b| before(a, b));
    }

    /// Merges two classes: the smaller into the larger.
    #[must_use]
    pub(crate) fn merged(self, other: EquivalenceClass, before: Before<'_>) -> EquivalenceClass {
        let (mut more, fewer) = if self.len() < other.len() {
            (other, self)
        } else {
            (self, other)
        };
        for info in fewer.into_items() {
            more.push_or_update(info, before);
        }
        more
    }
}
