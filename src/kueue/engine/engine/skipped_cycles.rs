//! Skipped retries: a cycle is not run if none of its heads can fit.
//!
//! When quota is released, all inadmissible workloads of a cohort are requeued, and each class of
//! them is evaluated again. A class that did not fit cannot fit before the quota that it needs is
//! available, so that a cycle with such heads only makes them inadmissible again. All other cycles
//! are run as usual.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::quota_limits::QuotaLimits;
use super::quota_slots::QuotaSlots;
use super::{Engine, order_context};
use crate::cycle::{Entry, EntryStatus};
use crate::queue::RequeueReason;
use crate::workload::{
    AssignmentClusterQueueState, EquivalenceHash, QueueOrderKey, WorkloadKey, predicates,
};
use crate::workload_slicing::replacement_for_key;

/// The quota that a workload needs, which did not fit.
pub(super) struct NoFitWorkload {
    queue: Arc<str>,
    key: WorkloadKey,
    hash: EquivalenceHash,
    numbers: Arc<[i64]>,
}

/// The cycle after the skipped cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextCycle {
    /// A cycle that has to be run.
    Run,
    /// No cycle that changes anything.
    None {
        /// The heads that stay the heads of all further cycles: of StrictFIFO queues, and
        /// preemptors.
        blocked: BTreeSet<WorkloadKey>,
    },
}

impl Engine {
    /// Skips cycles in which no head can fit from now on, as long as no other objects than
    /// Workloads change; after such a change it has to be called again. Decisions on Workloads are
    /// the same, but the status of a Workload that is not evaluated again keeps its last reason.
    ///
    /// False, and without effect, with admission fair sharing, whose order of workloads changes
    /// with usage, with `waitForPodsReady.blockAdmission`, with concurrent admission, and without
    /// scheduling hashes.
    pub fn enable_cycle_skipping(&mut self) -> bool {
        self.quota_slots.clear();
        let config = &self.config;
        if config.afs().is_some()
            || config.block_admission_until_pods_ready
            || config.gates.concurrent_admission
            || !config.gates.scheduling_equivalence_hashing
        {
            return false;
        }
        let frs = &mut self.cache.hierarchy.frs.clone();
        for queue in self.cache.cluster_queues() {
            let slots = QuotaSlots::of(queue, frs);
            self.quota_slots.insert(queue.name.clone(), slots);
        }
        self.cache.hierarchy.frs = std::mem::take(frs);
        for (name, slots) in &self.quota_slots {
            if let Some(pending) = self.queues.cluster_queue_mut(name) {
                pending.skip_retries(slots.width(), order_context!(self));
            }
        }
        true
    }

    /// Skips the next cycles in which no head can fit, and returns the cycle after them.
    pub fn skip_no_fit_cycles(&mut self) -> NextCycle {
        if self.quota_slots.is_empty() {
            return NextCycle::Run;
        }
        let active: Vec<Arc<str>> = self.active_queues();
        let waiting = self.waiting_heads(&active);
        let ctx = order_context!(self);
        let queues = &mut self.queues;
        let unknown = waiting.is_none()
            || queues.second_pass.has_ready()
            || active.iter().any(|name| {
                let waits = waiting
                    .as_ref()
                    .is_some_and(|heads| heads.contains_key(name));
                let pending = queues.cluster_queue_mut(name).filter(|_| !waits);
                pending.is_some_and(|pending| pending.has_unknown_head(ctx))
            });
        let waiting = waiting.unwrap_or_default();
        // The number of cycles until one is run, if any.
        let mut next = unknown.then_some(0);
        let mut longest = 0;
        let mut blocked: BTreeSet<WorkloadKey> = waiting.values().cloned().collect();
        let fair_sharing = self.config.fair_sharing_enabled();
        for name in active
            .iter()
            .filter(|name| !unknown && !waiting.contains_key(*name))
        {
            let slots = self.quota_slots.get(name);
            let Some((slots, pending)) = slots.zip(queues.cluster_queue_mut(name)) else {
                continue;
            };
            let Some(first) = pending.first_retry() else {
                continue;
            };
            let limits = QuotaLimits::of(&mut self.cache, slots, first, fair_sharing);
            let may_fit = |key: QueueOrderKey, numbers: &[i64]| {
                slots.are_within(numbers, limits.limits_of(key))
            };
            let retries = pending.next_retries(&may_fit);
            longest = longest.max(retries.no_fit);
            blocked.extend(retries.blocked);
            if retries.more {
                let before = retries.no_fit;
                next = Some(next.map_or(before, |next| before.min(next)));
            }
        }
        let skipped = next.unwrap_or(longest);
        for name in &active {
            let Some(pending) = queues.cluster_queue_mut(name) else {
                continue;
            };
            // A waiting head stays before all classes.
            if !waiting.contains_key(name) {
                pending.skip_classes(skipped, ctx);
            }
            if next.is_none() {
                pending.pop_nothing();
            }
        }
        self.count_cycles(skipped);
        match next {
            Some(_) => NextCycle::Run,
            None => NextCycle::None { blocked },
        }
    }

    /// The active ClusterQueues.
    fn active_queues(&self) -> Vec<Arc<str>> {
        let names = self.quota_slots.keys();
        let active = |name: &&Arc<str>| {
            let queue = self.cache.cluster_queue(name);
            queue.is_some_and(|queue| queue.is_active())
        };
        names.filter(active).cloned().collect()
    }

    /// The heads that wait for the end of preemptions, by ClusterQueue. None if there are several
    /// in one cohort tree, whose targets may overlap.
    fn waiting_heads(&self, active: &[Arc<str>]) -> Option<BTreeMap<Arc<str>, WorkloadKey>> {
        let mut heads = BTreeMap::new();
        let mut trees = BTreeSet::new();
        for name in active {
            let pending = self.queues.cluster_queue(name);
            let head = pending.and_then(|pending| pending.waiting_head(self.cache.changes()));
            if let Some((head, slots)) = head.zip(self.quota_slots.get(name)) {
                heads.insert(name.clone(), head.clone());
                if !trees.insert(self.cache.hierarchy.root(slots.node)) {
                    return None;
                }
            }
        }
        Some(heads)
    }

    /// Counts cycles that were skipped.
    pub fn count_cycles(&mut self, skipped: usize) {
        self.cycle += i64::try_from(skipped).unwrap_or_default();
    }

    /// The quota that an entry needs, if it becomes inadmissible and a retry of it can be skipped.
    pub(super) fn no_fit_workload(&self, entry: &Entry) -> Option<NoFitWorkload> {
        let slots = self.quota_slots.get(&entry.info.cluster_queue)?;
        let info = &entry.info;
        let last = info.last_assignment.as_deref();
        let no_fit = matches!(
            entry.requeue_reason,
            RequeueReason::NoFit | RequeueReason::PreemptionNoCandidates
        );
        if !no_fit
            || entry.status != EntryStatus::NotNominated
            || !info.scheduling_hash.is_known()
            || last.is_some_and(AssignmentClusterQueueState::pending_flavors)
            // With fewer pods it may fit.
            || predicates::can_be_partially_admitted(&info.obj)
            || predicates::has_quota_reservation(&info.obj)
            || replacement_for_key(&info.obj).is_some()
        {
            return None;
        }
        let pod_sets = info.obj.spec.pod_sets.len();
        let frs = &self.cache.hierarchy.frs;
        let decision = entry.decision.as_ref()?;
        let numbers = slots.numbers(decision, pod_sets, frs, &self.config)?;
        Some(NoFitWorkload {
            queue: info.cluster_queue.clone(),
            key: info.key.clone(),
            hash: info.scheduling_hash,
            numbers: numbers.into(),
        })
    }

    /// Whether an entry waits for the end of preemptions that were issued in earlier cycles. While
    /// no workload that reserves quota changes, further cycles decide the same, or skip the entry
    /// because of the quota that earlier entries reserve; its state does not change.
    pub(super) fn waits_for_preemptions(&self, entry: &Entry) -> bool {
        let name = &entry.info.cluster_queue;
        let no_choice = self
            .quota_slots
            .get(name)
            .is_some_and(QuotaSlots::has_no_choice);
        let queue = self.cache.cluster_queue(name).filter(|_| no_choice);
        entry.requeue_reason == RequeueReason::PendingPreemption
            && entry.issues_preemptions
            && queue.is_some_and(|queue| queue.tas_flavors.is_empty())
            && !predicates::can_be_partially_admitted(&entry.info.obj)
            && replacement_for_key(&entry.info.obj).is_none()
            && self.cache.changes() == self.changes_before_cycle
    }

    /// Records that a workload that was requeued waits for the end of preemptions.
    pub(super) fn record_waiting(&mut self, queue: &str, workload: WorkloadKey) {
        let changes = self.cache.changes();
        if let Some(pending) = self.queues.cluster_queue_mut(queue) {
            pending.record_waiting(workload, changes);
        }
    }

    /// Skips retries of a workload that was requeued.
    pub(super) fn record_no_fit(&mut self, workload: NoFitWorkload) {
        if let Some(pending) = self.queues.cluster_queue_mut(&workload.queue) {
            pending.record_no_fit(&workload.key, workload.hash, workload.numbers);
        }
    }
}
