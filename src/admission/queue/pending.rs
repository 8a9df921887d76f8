//! [`Pending`]: the workloads waiting in front of one ClusterQueue.
//!
//! A workload is in exactly one of three places: the heap, from which the next one to try is
//! taken; parked, until something changes that may let it in; or inflight, in the hands of the
//! scheduler. Must not know of quota.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::heap::Heap;
use super::reason::{QuotaReservedReason, RequeueReason};
use crate::admission::afs::UsageLedger;
use crate::admission::concurrent;
use crate::admission::config::EngineConfig;
use crate::admission::kube::selector::Selector;
use crate::admission::resources::Requests;
use crate::admission::workload::{
    AssignmentState, EquivalenceHash, Info, LocalQueueKey, WorkloadKey, predicates,
};
use crate::admission::world::World;
use crate::api::constants as c;
use crate::api::v1beta2::{AdmissionMode, ClusterQueueSpec, QueueingStrategy, Workload};

/// The workload whose preemptions are in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Preemptor {
    key: WorkloadKey,
    generation: i64,
    sticky: bool,
}

/// The workloads waiting in front of one ClusterQueue.
#[derive(Clone, Debug)]
pub struct Pending {
    strategy: Option<QueueingStrategy>,
    selector: Selector,
    has_concurrent_admission: bool,
    serves_by_usage: bool,
    /// The weights of its LocalQueues.
    weights: BTreeMap<LocalQueueKey, f64>,
    heap: Heap,
    hashes: HashMap<EquivalenceHash, HashSet<WorkloadKey>>,
    parked: BTreeMap<WorkloadKey, Arc<Info>>,
    inflight: Option<Arc<Info>>,
    /// Why workloads of a shape were parked together, since the last flush.
    parked_shapes: BTreeMap<EquivalenceHash, QuotaReservedReason>,
    pop_cycle: i64,
    flush_cycle: i64,
    preemptor: Option<Preemptor>,
}

/// What the order of workloads depends on besides themselves.
#[derive(Clone, Copy)]
pub struct OrderContext<'a> {
    /// Settings.
    pub config: &'a EngineConfig,
    /// Past usage of LocalQueues.
    pub ledger: &'a UsageLedger,
}

impl Pending {
    /// An empty queue.
    pub fn new() -> Self {
        Pending {
            strategy: None,
            selector: Selector::Nothing,
            has_concurrent_admission: false,
            serves_by_usage: false,
            weights: BTreeMap::new(),
            heap: Heap::default(),
            hashes: HashMap::new(),
            parked: BTreeMap::new(),
            inflight: None,
            parked_shapes: BTreeMap::new(),
            pop_cycle: 0,
            flush_cycle: -1,
            preemptor: None,
        }
    }

    /// Reads the settings of the ClusterQueue; how LocalQueues are served is settled at first.
    pub fn read(&mut self, spec: &ClusterQueueSpec, config: &EngineConfig, first: bool) {
        self.strategy = spec.queueing_strategy;
        if let Ok(selector) = Selector::from_api(spec.namespace_selector.as_ref()) {
            self.selector = selector;
        }
        if config.gates.concurrent_admission {
            self.has_concurrent_admission = spec.concurrent_admission_policy.is_some();
        }
        if first {
            let mode = spec.admission_scope.as_ref().and_then(|s| s.admission_mode);
            let by_usage = AdmissionMode::UsageBasedAdmissionFairSharing;
            self.serves_by_usage = config.afs().is_some() && mode == Some(by_usage);
        }
    }

    /// Whether variants of one workload compete here.
    pub fn has_concurrent_admission(&self) -> bool {
        self.has_concurrent_admission
    }

    /// The order of two workloads: usage of their LocalQueues, then the preemptor, then priority,
    /// time and UID.
    fn compare(&self, a: &Info, b: &Info, ctx: OrderContext<'_>) -> Ordering {
        let by_usage = match ctx.config.afs().filter(|_| self.serves_by_usage) {
            Some(afs) if a.local_queue != b.local_queue => {
                let usage = |key: &LocalQueueKey| {
                    let weight = self.weights.get(key).copied().unwrap_or(1.0);
                    ctx.ledger.usage(key, weight, afs)
                };
                usage(&a.local_queue).total_cmp(&usage(&b.local_queue))
            }
            _ => Ordering::Equal,
        };
        let sticky = |i: &Info| {
            self.preemptor
                .as_ref()
                .is_some_and(|p| p.sticky && p.key == i.key)
        };
        by_usage
            .then_with(|| sticky(b).cmp(&sticky(a)))
            .then_with(|| b.priority.cmp(&a.priority))
            .then_with(|| a.queue_timestamp.cmp(&b.queue_timestamp))
            .then_with(|| a.uid().cmp(b.uid()))
    }

    fn with_heap<T>(
        &mut self,
        ctx: OrderContext<'_>,
        f: impl FnOnce(&mut Heap, &dyn Fn(&Info, &Info) -> bool) -> T,
    ) -> T {
        let mut heap = std::mem::take(&mut self.heap);
        let result = f(&mut heap, &|a, b| self.compare(a, b, ctx) == Ordering::Less);
        self.heap = heap;
        result
    }

    /// Counts for a LocalQueue; a changed weight reorders the heap.
    pub fn set_weight(&mut self, key: &LocalQueueKey, weight: f64, ctx: OrderContext<'_>) {
        if self.weights.insert(key.clone(), weight) != Some(weight) {
            self.rebuild(ctx);
        }
    }

    /// Counts no longer for a LocalQueue.
    pub fn remove_weight(&mut self, key: &LocalQueueKey) {
        self.weights.remove(key);
    }

    /// Restores the heap after usage of LocalQueues changed.
    pub fn rebuild(&mut self, ctx: OrderContext<'_>) {
        self.with_heap(ctx, |heap, before| heap.rebuild(before));
    }

    fn add_hash(&mut self, info: &Info) {
        if info.scheduling_hash.is_known() {
            self.hashes
                .entry(info.scheduling_hash)
                .or_default()
                .insert(info.key.clone());
        }
    }

    fn drop_hash(&mut self, info: &Info) {
        if let Some(keys) = self.hashes.get_mut(&info.scheduling_hash) {
            keys.remove(&info.key);
            if keys.is_empty() {
                self.hashes.remove(&info.scheduling_hash);
            }
        }
    }

    /// Adds to the heap unless the workload is somewhere here; true when added.
    pub fn push_active_if_not_present(&mut self, info: Arc<Info>, ctx: OrderContext<'_>) -> bool {
        if self.is_inflight(&info.key) || self.parked.contains_key(&info.key) {
            return false;
        }
        let added = self.with_heap(ctx, |heap, before| {
            heap.push_if_not_present(info.clone(), before)
        });
        if added {
            self.add_hash(&info);
        }
        added
    }

    fn push_or_update_active(&mut self, info: Arc<Info>, ctx: OrderContext<'_>) {
        if let Some(old) = self.heap.get(&info.key).cloned() {
            self.drop_hash(&old);
        }
        self.add_hash(&info);
        self.with_heap(ctx, |heap, before| heap.push_or_update(info, before));
    }

    fn remove_active(&mut self, key: &WorkloadKey, ctx: OrderContext<'_>) -> Option<Arc<Info>> {
        let removed = self.with_heap(ctx, |heap, before| heap.remove(key, before))?;
        self.drop_hash(&removed);
        Some(removed)
    }

    fn unpark(&mut self, key: &WorkloadKey, ctx: OrderContext<'_>) -> bool {
        let Some(info) = self.parked.get(key).cloned() else {
            return false;
        };
        let added = self.with_heap(ctx, |heap, before| {
            heap.push_if_not_present(info.clone(), before)
        });
        if added {
            self.add_hash(&info);
            self.parked.remove(key);
        }
        added
    }

    /// Whether the scheduler has the workload in hand.
    pub fn is_inflight(&self, key: &WorkloadKey) -> bool {
        self.inflight.as_ref().is_some_and(|i| i.key == *key)
    }

    fn forget_inflight(&mut self, key: &WorkloadKey) {
        if self.is_inflight(key) {
            self.inflight = None;
        }
    }

    /// The workload, wherever it is.
    pub fn get(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        let inflight = self.inflight.as_ref().filter(|i| i.key == *key);
        inflight
            .or_else(|| self.heap.get(key))
            .or_else(|| self.parked.get(key))
    }

    /// The workload, if it is in the heap.
    pub fn active(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.heap.get(key)
    }

    /// The workload, if it is parked.
    pub fn parked(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.parked.get(key)
    }

    /// Takes in a workload in its newest version. One the scheduler has in hand is left to it; a
    /// parked one stays parked unless something about it changed that may let it in.
    pub fn push_or_update(&mut self, info: Arc<Info>, ctx: OrderContext<'_>, now: Timestamp) {
        if ctx.config.gates.concurrent_admission && concurrent::is_parent(&info.obj) {
            return;
        }
        let key = info.key.clone();
        if self.is_inflight(&key) {
            return;
        }
        if let Some(old) = self.parked.get(&key) {
            if !may_have_become_admissible(old, &info, ctx.config) {
                self.parked.insert(key, info);
                return;
            }
            self.parked.remove(&key);
        }
        let in_heap = self.heap.get(&key).is_some();
        let shape_is_parked = self.strategy == Some(QueueingStrategy::BestEffortFIFO)
            && info.scheduling_hash.is_known()
            && self.parked_shapes.contains_key(&info.scheduling_hash);
        if !in_heap && (!backoff_expired(&info.obj, now) || shape_is_parked) {
            self.parked.insert(key, info);
            return;
        }
        self.push_or_update_active(info, ctx);
    }

    /// Takes a workload out, wherever it is.
    pub fn delete(&mut self, key: &WorkloadKey, ctx: OrderContext<'_>) {
        self.parked.remove(key);
        self.remove_active(key, ctx);
        self.forget_inflight(key);
        if self.preemptor.as_ref().is_some_and(|p| p.key == *key) {
            self.preemptor = None;
        }
    }

    /// Takes the next workload to try. It is inflight until it is requeued or deleted.
    pub fn pop(&mut self, ctx: OrderContext<'_>) -> Option<Arc<Info>> {
        if ctx.config.afs().is_some()
            && self
                .weights
                .keys()
                .any(|key| ctx.ledger.has_pending_penalty(key))
        {
            self.rebuild(ctx);
        }
        self.pop_cycle += 1;
        self.inflight = None;
        let popped = self.with_heap(ctx, |heap, before| heap.pop(before))?;
        self.drop_hash(&popped);
        let mut info = Info::clone(&popped);
        info.last_evaluated_generation = info.generation();
        self.inflight = Some(Arc::new(info));
        self.inflight.clone()
    }

    /// Whether the preemptions of this very version of the workload are in progress.
    pub fn is_preemptor(&self, info: &Info) -> bool {
        let p = self.preemptor.as_ref();
        p.is_some_and(|p| p.key == info.key && p.generation == info.generation())
    }

    /// Puts a workload back that was not admitted: into the heap when it is worth trying again at
    /// once, else parked. True when it was put somewhere it was not.
    pub fn requeue_if_not_present(
        &mut self,
        info: Arc<Info>,
        reason: RequeueReason,
        quota_reserved_reason: Option<QuotaReservedReason>,
        ctx: OrderContext<'_>,
        now: Timestamp,
    ) -> bool {
        use RequeueReason as R;
        let best_effort = self.strategy == Some(QueueingStrategy::BestEffortFIFO);
        let immediate = if self.strategy == Some(QueueingStrategy::StrictFIFO) {
            reason != R::NamespaceMismatch
        } else {
            matches!(
                reason,
                R::FailedAfterNomination
                    | R::PendingPreemption
                    | R::PendingMigration
                    | R::PreemptionFailed
            )
        };
        let key = info.key.clone();
        if matches!(reason, R::PendingPreemption | R::PendingMigration) {
            self.preemptor = Some(Preemptor {
                key: key.clone(),
                generation: info.last_evaluated_generation,
                sticky: best_effort,
            });
        }
        self.forget_inflight(&key);

        let flavors_left = info
            .last_assignment
            .as_deref()
            .is_some_and(AssignmentState::pending_flavors);
        let flushed = self.flush_cycle >= self.pop_cycle;
        if backoff_expired(&info.obj, now) && (immediate || flushed || flavors_left) {
            if self.parked.contains_key(&key) {
                return self.unpark(&key, ctx);
            }
            return self.push_active_if_not_present(info, ctx);
        }
        if self.parked.contains_key(&key) || self.heap.get(&key).is_some() {
            return false;
        }
        let hash = info.scheduling_hash;
        self.parked.insert(key, info);
        if hash.is_known() && matches!(reason, R::NoFit | R::PreemptionNoCandidates) {
            self.park_shape(hash, quota_reserved_reason, ctx);
        }
        true
    }

    /// Parks all workloads of a shape that was found not to fit, and those that come later. Gives
    /// how many were in the heap. A strict queue does not pass over its head.
    pub fn park_shape(
        &mut self,
        hash: EquivalenceHash,
        reason: Option<QuotaReservedReason>,
        ctx: OrderContext<'_>,
    ) -> usize {
        if self.strategy != Some(QueueingStrategy::BestEffortFIFO) || !hash.is_known() {
            return 0;
        }
        self.parked_shapes.insert(
            hash,
            reason.unwrap_or(QuotaReservedReason::PendingEvaluation),
        );
        let keys = self.hashes.get(&hash).cloned().unwrap_or_default();
        for key in &keys {
            if let Some(info) = self.remove_active(key, ctx) {
                self.parked.insert(key.clone(), info);
            }
        }
        keys.len()
    }

    /// Why a parked workload was passed over without being looked at, if it was.
    pub fn no_fit_reason(&self, key: &WorkloadKey) -> Option<QuotaReservedReason> {
        self.parked_shapes
            .get(&self.parked.get(key)?.scheduling_hash)
            .copied()
    }

    /// Moves parked workloads back to the heap, save those whose namespace is not taken or whose
    /// backoff is not over. Gives how many moved.
    pub fn flush(&mut self, world: &World, ctx: OrderContext<'_>, now: Timestamp) -> usize {
        self.flush_cycle = self.pop_cycle;
        self.parked_shapes.clear();
        let keys: Vec<WorkloadKey> = self
            .parked
            .values()
            .filter(|info| {
                let labels = world.namespace(predicates::namespace(&info.obj));
                labels.is_some_and(|l| self.selector.matches(l)) && backoff_expired(&info.obj, now)
            })
            .map(|info| info.key.clone())
            .collect();
        keys.iter().filter(|key| self.unpark(key, ctx)).count()
    }

    /// Workloads in the heap or inflight, and parked ones.
    pub fn counts(&self) -> (usize, usize) {
        (
            self.heap.len() + usize::from(self.inflight.is_some()),
            self.parked.len(),
        )
    }

    /// Whether the heap is empty.
    pub fn is_idle(&self) -> bool {
        self.heap.is_empty()
    }

    /// The keys in the heap, sorted.
    pub fn active_keys(&self) -> Vec<WorkloadKey> {
        let mut keys: Vec<WorkloadKey> = self.heap.iter().map(|i| i.key.clone()).collect();
        keys.sort();
        keys
    }

    /// The keys parked, sorted.
    pub fn parked_keys(&self) -> Vec<WorkloadKey> {
        self.parked.keys().cloned().collect()
    }

    /// All workloads here in the order they would be tried.
    pub fn in_order(&self, ctx: OrderContext<'_>) -> Vec<Arc<Info>> {
        let mut all: Vec<Arc<Info>> = self
            .heap
            .iter()
            .chain(self.parked.values())
            .chain(&self.inflight)
            .cloned()
            .collect();
        all.sort_by(|a, b| self.compare(a, b, ctx).then_with(|| a.key.cmp(&b.key)));
        all
    }

    /// How many shapes the workloads in the heap and the parked ones have.
    pub fn shapes(&self) -> (usize, usize) {
        let known = |i: &&Arc<Info>| i.scheduling_hash.is_known();
        let parked: HashSet<EquivalenceHash> = self
            .parked
            .values()
            .filter(known)
            .map(|i| i.scheduling_hash)
            .collect();
        let new = self.inflight.iter().filter(known);
        let new = new
            .filter(|i| !self.hashes.contains_key(&i.scheduling_hash))
            .count();
        (self.hashes.len() + new, parked.len())
    }

    /// What all workloads here request together.
    pub fn requested(&self) -> Requests {
        let mut total = Requests::new();
        for info in self
            .heap
            .iter()
            .chain(self.parked.values())
            .chain(&self.inflight)
        {
            total.add(&info.sum_total_requests());
        }
        total
    }
}

impl Default for Pending {
    fn default() -> Self {
        Pending::new()
    }
}

/// Whether the time a workload has to wait before it is tried again is over.
pub fn backoff_expired(wl: &Workload, now: Timestamp) -> bool {
    if predicates::false_condition(wl, c::REQUEUED).is_some() {
        return false;
    }
    let requeue_at = wl
        .status
        .requeue_state
        .as_ref()
        .and_then(|s| s.requeue_at.as_ref());
    requeue_at.is_none_or(|at| now >= at.0)
}

/// Whether a parked workload changed in a way that may let it in.
fn may_have_become_admissible(old: &Info, new: &Info, config: &EngineConfig) -> bool {
    let evaluated = old.last_evaluated_generation;
    if evaluated != 0 && new.generation() != evaluated {
        return true;
    }
    let (o, n) = (&*old.obj, &*new.obj);
    let boost =
        |wl: &Workload| predicates::annotation(wl, c::PRIORITY_BOOST_ANNOTATION).map(str::to_owned);
    o.spec != n.spec
        || (config.gates.priority_boost && boost(o) != boost(n))
        || o.status.reclaimable_pods != n.status.reclaimable_pods
        || o.condition(c::EVICTED) != n.condition(c::EVICTED)
        || o.condition(c::REQUEUED) != n.condition(c::REQUEUED)
        || predicates::has_closed_preemption_gate(o) != predicates::has_closed_preemption_gate(n)
        || (config.gates.kueue_dra_integration && old.total_requests != new.total_requests)
}
