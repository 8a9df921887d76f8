//! [`Pending`]: the workloads waiting in front of one ClusterQueue.
//!
//! A workload is in exactly one of three places: active, from which the next one to try is
//! taken; parked, until something changes that may let it in; or inflight, in the hands of the
//! scheduler. Must not know of quota.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::alike::{Before, Queued};
use super::reason::{QuotaReservedReason, RequeueReason};
use super::waiting::Waiting;
use crate::afs::UsageLedger;
use crate::concurrent;
use crate::config::EngineConfig;
use crate::kube::selector::Selector;
use crate::resources::Requests;
use crate::workload::{
    AssignmentState, EquivalenceHash, Info, LocalQueueKey, WorkloadKey, predicates,
};
use crate::world::World;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{AdmissionMode, ClusterQueueSpec, QueueingStrategy, Workload};

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
    /// Whether its status says so; the scheduler goes by what the cache knows.
    active: bool,
    /// The weights of its LocalQueues.
    weights: BTreeMap<LocalQueueKey, f64>,
    waiting: Waiting,
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
            active: false,
            weights: BTreeMap::new(),
            waiting: Waiting::default(),
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

    /// Takes note of whether the status says that the queue is active; true when it became so.
    pub fn set_active(&mut self, active: bool) -> bool {
        let before = std::mem::replace(&mut self.active, active);
        active && !before
    }

    /// Whether variants of one workload compete here.
    pub fn has_concurrent_admission(&self) -> bool {
        self.has_concurrent_admission
    }

    /// The order of two workloads: usage of their LocalQueues, then the preemptor, then priority,
    /// time and UID.
    fn compare(&self, a: &Queued, b: &Queued, ctx: OrderContext<'_>) -> Ordering {
        let by_usage = match ctx.config.afs().filter(|_| self.serves_by_usage) {
            Some(afs) if a.info.local_queue != b.info.local_queue => {
                let usage = |key: &LocalQueueKey| {
                    let weight = self.weights.get(key).copied().unwrap_or(1.0);
                    ctx.ledger.usage(key, weight, afs)
                };
                usage(&a.info.local_queue).total_cmp(&usage(&b.info.local_queue))
            }
            _ => Ordering::Equal,
        };
        let sticky = |i: &Queued| {
            self.preemptor
                .as_ref()
                .is_some_and(|p| p.sticky && p.key == i.info.key)
        };
        by_usage
            .then_with(|| sticky(b).cmp(&sticky(a)))
            .then_with(|| b.rank.priority.cmp(&a.rank.priority))
            .then_with(|| a.rank.queue_timestamp.cmp(&b.rank.queue_timestamp))
            .then_with(|| a.info.uid().cmp(b.info.uid()))
    }

    fn with_waiting<T>(
        &mut self,
        ctx: OrderContext<'_>,
        f: impl FnOnce(&mut Waiting, Before<'_>) -> T,
    ) -> T {
        let mut waiting = std::mem::take(&mut self.waiting);
        let result = f(&mut waiting, &|a, b| {
            self.compare(a, b, ctx) == Ordering::Less
        });
        self.waiting = waiting;
        result
    }

    /// Counts for a LocalQueue; a changed weight reorders them all.
    pub fn set_weight(&mut self, key: &LocalQueueKey, weight: f64, ctx: OrderContext<'_>) {
        if self.weights.insert(key.clone(), weight) != Some(weight) {
            self.rebuild(ctx);
        }
    }

    /// Counts no longer for a LocalQueue.
    pub fn remove_weight(&mut self, key: &LocalQueueKey) {
        self.weights.remove(key);
    }

    /// Restores the order after usage of LocalQueues changed.
    pub fn rebuild(&mut self, ctx: OrderContext<'_>) {
        self.with_waiting(ctx, Waiting::rebuild);
    }

    /// Makes a workload active unless it is somewhere here; true when it was not.
    pub fn push_active_if_not_present(&mut self, info: Arc<Info>, ctx: OrderContext<'_>) -> bool {
        if self.get(&info.key).is_some() {
            return false;
        }
        self.activate(info, ctx);
        true
    }

    fn activate(&mut self, info: Arc<Info>, ctx: OrderContext<'_>) {
        self.with_waiting(ctx, |waiting, before| waiting.activate(info, before));
    }

    fn park(&mut self, info: Arc<Info>, ctx: OrderContext<'_>) {
        self.with_waiting(ctx, |waiting, before| waiting.park(info, before));
    }

    fn set_preemptor(&mut self, preemptor: Option<Preemptor>, ctx: OrderContext<'_>) {
        let before = std::mem::replace(&mut self.preemptor, preemptor);
        let now = self.preemptor.as_ref();
        let changed = [before.map(|p| p.key), now.map(|p| p.key.clone())];
        for key in changed.into_iter().flatten() {
            self.with_waiting(ctx, |waiting, before| waiting.reorder(&key, before));
        }
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
        inflight.or_else(|| self.waiting.get(key))
    }

    /// The workload, if it is active.
    pub fn active(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.waiting.active(key)
    }

    /// The workload, if it is parked.
    pub fn parked(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.waiting.parked(key)
    }

    /// Takes in a workload in its newest version. One the scheduler has in hand is left to it; a
    /// parked one stays parked unless something about it changed that may let it in.
    pub fn push_or_update(&mut self, info: Arc<Info>, ctx: OrderContext<'_>, now: Timestamp) {
        if ctx.config.gates.concurrent_admission && concurrent::is_parent(&info.obj) {
            return;
        }
        if self.is_inflight(&info.key) {
            return;
        }
        if let Some(old) = self.parked(&info.key)
            && !may_have_become_admissible(old, &info, ctx.config)
        {
            return self.park(info, ctx);
        }
        let is_active = self.active(&info.key).is_some();
        let shape_is_parked = self.strategy == Some(QueueingStrategy::BestEffortFIFO)
            && info.scheduling_hash.is_known()
            && self.parked_shapes.contains_key(&info.scheduling_hash);
        if !is_active && (!backoff_expired(&info.obj, now) || shape_is_parked) {
            return self.park(info, ctx);
        }
        self.activate(info, ctx);
    }

    /// Takes a workload out, wherever it is.
    pub fn delete(&mut self, key: &WorkloadKey, ctx: OrderContext<'_>) {
        self.with_waiting(ctx, |waiting, before| waiting.remove(key, before));
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
        let mut popped = self.with_waiting(ctx, Waiting::pop)?;
        if popped.last_evaluated_generation != popped.generation() {
            let info = Arc::make_mut(&mut popped);
            info.last_evaluated_generation = info.generation();
        }
        self.inflight = Some(popped);
        self.inflight.clone()
    }

    /// Whether the preemptions of this very version of the workload are in progress.
    pub fn is_preemptor(&self, info: &Info) -> bool {
        let p = self.preemptor.as_ref();
        p.is_some_and(|p| p.key == info.key && p.generation == info.generation())
    }

    /// Puts a workload back that was not admitted: to be tried again when that is worth while
    /// at once, else parked. True when it was put somewhere it was not.
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
            let preemptor = Preemptor {
                key: key.clone(),
                generation: info.last_evaluated_generation,
                sticky: best_effort,
            };
            self.set_preemptor(Some(preemptor), ctx);
        }
        self.forget_inflight(&key);

        let flavors_left = info
            .last_assignment
            .as_deref()
            .is_some_and(AssignmentState::pending_flavors);
        let flushed = self.flush_cycle >= self.pop_cycle;
        if backoff_expired(&info.obj, now) && (immediate || flushed || flavors_left) {
            if self.parked(&key).is_some() {
                return self.with_waiting(ctx, |w, before| w.unpark(&key, before));
            }
            return self.push_active_if_not_present(info, ctx);
        }
        if self.waiting.get(&key).is_some() {
            return false;
        }
        let hash = info.scheduling_hash;
        self.park(info, ctx);
        if hash.is_known() && matches!(reason, R::NoFit | R::PreemptionNoCandidates) {
            self.park_shape(hash, quota_reserved_reason, ctx);
        }
        true
    }

    /// Parks all workloads of a shape that was found not to fit, and those that come later. Gives
    /// how many were active. A strict queue does not pass over its head.
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
        self.with_waiting(ctx, |waiting, before| waiting.park_shape(hash, before))
    }

    /// Why a parked workload was passed over without being looked at, if it was.
    pub fn no_fit_reason(&self, key: &WorkloadKey) -> Option<QuotaReservedReason> {
        self.parked_shapes
            .get(&self.parked(key)?.scheduling_hash)
            .copied()
    }

    /// Makes parked workloads active, save those whose namespace is not taken or whose backoff is
    /// not over. Gives how many.
    pub fn flush(&mut self, world: &World, ctx: OrderContext<'_>, now: Timestamp) -> usize {
        self.flush_cycle = self.pop_cycle;
        self.parked_shapes.clear();
        let selector = self.selector.clone();
        let takes = |namespace: &str| {
            let labels = world.namespace(namespace);
            labels.is_some_and(|l| selector.matches(l))
        };
        let may_go = |info: &Info| {
            takes(predicates::namespace(&info.obj)) && backoff_expired(&info.obj, now)
        };
        let reordered = self.serves_by_usage;
        self.with_waiting(ctx, |waiting, before| {
            waiting.unpark_all(takes, may_go, reordered, before)
        })
    }

    /// Workloads active or inflight, and parked ones.
    pub fn counts(&self) -> (usize, usize) {
        (
            self.waiting.active_count() + usize::from(self.inflight.is_some()),
            self.waiting.parked_count(),
        )
    }

    /// Whether none is active.
    pub fn is_idle(&self) -> bool {
        self.waiting.active_count() == 0
    }

    /// The keys of the active ones, sorted.
    pub fn active_keys(&self) -> Vec<WorkloadKey> {
        sorted_keys(self.waiting.iter_active())
    }

    /// The keys of the parked ones, sorted.
    pub fn parked_keys(&self) -> Vec<WorkloadKey> {
        sorted_keys(self.waiting.iter_parked())
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Info>> {
        let waiting = self.waiting.iter_active().chain(self.waiting.iter_parked());
        waiting.chain(&self.inflight)
    }

    /// All workloads here in the order they would be tried.
    pub fn in_order(&self, ctx: OrderContext<'_>) -> Vec<Arc<Info>> {
        let mut all: Vec<Queued> = self.iter().cloned().map(Queued::from).collect();
        all.sort_by(|a, b| {
            let by_key = || a.info.key.cmp(&b.info.key);
            self.compare(a, b, ctx).then_with(by_key)
        });
        all.into_iter().map(|queued| queued.info).collect()
    }

    /// How many shapes the active workloads, with the one inflight, and the parked ones have.
    pub fn shapes(&self) -> (usize, usize) {
        let (active, parked) = self.waiting.shape_counts();
        let shape = self.inflight.as_ref().map(|i| i.scheduling_hash);
        let new = shape.filter(|s| s.is_known() && !self.waiting.has_active_shape(*s));
        (active + usize::from(new.is_some()), parked)
    }

    /// What all workloads here request together.
    pub fn requested(&self) -> Requests {
        let mut total = Requests::new();
        for info in self.iter() {
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

fn sorted_keys<'a>(infos: impl Iterator<Item = &'a Arc<Info>>) -> Vec<WorkloadKey> {
    let mut keys: Vec<WorkloadKey> = infos.map(|i| i.key.clone()).collect();
    keys.sort();
    keys
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
