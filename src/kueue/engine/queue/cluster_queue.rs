//! [`PendingClusterQueue`]: the pending workloads of one ClusterQueue, with StrictFIFO or
//! BestEffortFIFO.
//!
//! A workload is in exactly one state: active, in the heap; inadmissible, until an event requeues
//! it; or inflight, as a head of the current cycle. Must not depend on quota.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::equivalence_class::{Before, QueuedWorkload};
use super::pending_workloads::{NextRetries, PendingWorkloads};
use super::requeue_reason::{QuotaReservedReason, RequeueReason};
use crate::afs::AfsUsageLedger;
use crate::cluster_objects::ClusterObjects;
use crate::concurrent_admission;
use crate::config::EngineConfig;
use crate::workload::{
    AssignmentClusterQueueState, EquivalenceHash, Info, LocalQueueKey, QueueOrderKey, WorkloadKey,
    predicates,
};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{AdmissionMode, ClusterQueueSpec, QueueingStrategy, Workload};
use kueue_lab_component_helpers::label_selector::Selector;

/// The workload whose preemptions are in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Preemptor {
    key: WorkloadKey,
    generation: i64,
    sticky: bool,
}

/// A scheduling hash that did not fit.
#[derive(Clone, Copy, Debug)]
struct NoFitHash {
    /// The reason that its workloads became inadmissible.
    reason: QuotaReservedReason,
    /// The time of the evaluation after which they did; none if it was marked without one.
    since: Option<Timestamp>,
}

impl Default for NoFitHash {
    fn default() -> Self {
        Self {
            reason: QuotaReservedReason::PendingEvaluation,
            since: None,
        }
    }
}

/// The pending workloads of one ClusterQueue.
#[derive(Clone, Debug)]
pub struct PendingClusterQueue {
    strategy: Option<QueueingStrategy>,
    selector: Selector,
    has_concurrent_admission: bool,
    uses_admission_fair_sharing: bool,
    /// Whether its Active condition is True; the scheduler uses the cache instead.
    active: bool,
    /// The fair sharing weights of its LocalQueues.
    weights: BTreeMap<LocalQueueKey, f64>,
    workloads: PendingWorkloads,
    inflight: Option<Arc<Info>>,
    /// The scheduling hashes whose workloads became inadmissible since inadmissible workloads were last requeued.
    no_fit_by_hash: BTreeMap<EquivalenceHash, NoFitHash>,
    pop_cycle: i64,
    queue_inadmissible_cycle: i64,
    preemptor: Option<Preemptor>,
    /// A workload that waits for the end of preemptions, and the changes of the cache until then.
    waiting: Option<(WorkloadKey, u64)>,
}

/// The inputs of the order of workloads besides the workloads.
#[derive(Clone, Copy)]
pub struct OrderContext<'a> {
    /// The configuration.
    pub config: &'a EngineConfig,
    /// Consumed usage and entry penalties of LocalQueues.
    pub ledger: &'a AfsUsageLedger,
}

impl PendingClusterQueue {
    /// An empty queue.
    pub fn new() -> Self {
        PendingClusterQueue {
            strategy: None,
            selector: Selector::Nothing,
            has_concurrent_admission: false,
            uses_admission_fair_sharing: false,
            active: false,
            weights: BTreeMap::new(),
            workloads: PendingWorkloads::default(),
            inflight: None,
            no_fit_by_hash: BTreeMap::new(),
            pop_cycle: 0,
            queue_inadmissible_cycle: -1,
            preemptor: None,
            waiting: None,
        }
    }

    /// Applies the spec of the ClusterQueue. The admission mode is set by the first call only.
    pub fn update(&mut self, spec: &ClusterQueueSpec, config: &EngineConfig, first: bool) {
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
            self.uses_admission_fair_sharing = config.afs().is_some() && mode == Some(by_usage);
        }
    }

    /// Updates whether the Active condition is True; true when it became so.
    pub fn set_active(&mut self, active: bool) -> bool {
        let before = std::mem::replace(&mut self.active, active);
        active && !before
    }

    /// Whether it has a concurrent admission policy.
    pub(crate) fn has_concurrent_admission(&self) -> bool {
        self.has_concurrent_admission
    }

    /// The order of two workloads: LocalQueue usage, preemptor, priority, queue order timestamp,
    /// UID.
    fn compare(&self, a: &QueuedWorkload, b: &QueuedWorkload, ctx: OrderContext<'_>) -> Ordering {
        let by_usage = match ctx
            .config
            .afs()
            .filter(|_| self.uses_admission_fair_sharing)
        {
            Some(afs) if a.info.local_queue != b.info.local_queue => {
                let usage = |key: &LocalQueueKey| {
                    let weight = self.weights.get(key).copied().unwrap_or(1.0);
                    ctx.ledger.usage(key, weight, afs)
                };
                usage(&a.info.local_queue).total_cmp(&usage(&b.info.local_queue))
            }
            _ => Ordering::Equal,
        };
        let sticky = |i: &QueuedWorkload| {
            self.preemptor
                .as_ref()
                .is_some_and(|p| p.sticky && p.key == i.info.key)
        };
        by_usage
            .then_with(|| sticky(b).cmp(&sticky(a)))
            .then_with(|| b.order_key.priority.cmp(&a.order_key.priority))
            .then_with(|| {
                a.order_key
                    .queue_timestamp
                    .cmp(&b.order_key.queue_timestamp)
            })
            .then_with(|| a.info.uid().cmp(b.info.uid()))
    }

    fn with_workloads<T>(
        &mut self,
        ctx: OrderContext<'_>,
        f: impl FnOnce(&mut PendingWorkloads, Before<'_>) -> T,
    ) -> T {
        let mut workloads = std::mem::take(&mut self.workloads);
        let result = f(&mut workloads, &|a, b| {
            self.compare(a, b, ctx) == Ordering::Less
        });
        self.workloads = workloads;
        result
    }

    /// Sets the weight of a LocalQueue; a changed weight rebuilds the heap.
    pub fn set_weight(&mut self, key: &LocalQueueKey, weight: f64, ctx: OrderContext<'_>) {
        if self.weights.insert(key.clone(), weight) != Some(weight) {
            self.rebuild(ctx);
        }
    }

    /// Removes the weight of a LocalQueue.
    pub(crate) fn remove_weight(&mut self, key: &LocalQueueKey) {
        self.weights.remove(key);
    }

    /// Rebuilds the heap after LocalQueue usage changed.
    pub(crate) fn rebuild(&mut self, ctx: OrderContext<'_>) {
        self.with_workloads(ctx, PendingWorkloads::rebuild);
    }

    /// Adds a workload to the heap unless it is in another state; true when it was added.
    pub(crate) fn push_active_if_not_present(
        &mut self,
        info: Arc<Info>,
        ctx: OrderContext<'_>,
    ) -> bool {
        if self.get(&info.key).is_some() {
            return false;
        }
        self.restore(info.scheduling_hash, ctx);
        self.push_or_update_active(info, ctx);
        true
    }

    fn push_or_update_active(&mut self, info: Arc<Info>, ctx: OrderContext<'_>) {
        self.with_workloads(ctx, |workloads, before| {
            workloads.push_or_update_active(info, before)
        });
    }

    fn insert_inadmissible(&mut self, info: Arc<Info>, ctx: OrderContext<'_>) {
        self.with_workloads(ctx, |workloads, before| {
            workloads.insert_inadmissible(info, before)
        });
    }

    fn set_preemptor(&mut self, preemptor: Option<Preemptor>, ctx: OrderContext<'_>) {
        let before = std::mem::replace(&mut self.preemptor, preemptor);
        let now = self.preemptor.as_ref();
        let changed = [before.map(|p| p.key), now.map(|p| p.key.clone())];
        for key in changed.into_iter().flatten() {
            self.restore_class_of(&key, ctx);
            self.with_workloads(ctx, |workloads, before| workloads.reorder(&key, before));
        }
    }

    /// Whether the workload is inflight.
    pub(crate) fn is_inflight(&self, key: &WorkloadKey) -> bool {
        self.inflight.as_ref().is_some_and(|i| i.key == *key)
    }

    fn forget_inflight(&mut self, key: &WorkloadKey) {
        if self.is_inflight(key) {
            self.inflight = None;
        }
    }

    /// The workload, in any state.
    pub fn get(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        let inflight = self.inflight.as_ref().filter(|i| i.key == *key);
        inflight.or_else(|| self.workloads.get(key))
    }

    /// The workload, if it is active.
    pub fn active(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.workloads.active(key)
    }

    /// The workload, if it is inadmissible.
    pub fn inadmissible(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.workloads.inadmissible(key)
    }

    /// Adds or updates a workload. An inflight one is left to the scheduler; an inadmissible one
    /// stays so unless the update may make it admissible.
    pub fn push_or_update(&mut self, info: Arc<Info>, ctx: OrderContext<'_>, now: Timestamp) {
        if ctx.config.gates.concurrent_admission && concurrent_admission::is_parent(&info.obj) {
            return;
        }
        if self.is_inflight(&info.key) {
            return;
        }
        self.restore_class_of(&info.key, ctx);
        self.restore(info.scheduling_hash, ctx);
        if let Some(old) = self.inadmissible(&info.key)
            && !may_have_become_admissible(old, &info, ctx.config)
        {
            return self.insert_with_no_fit_reason(info, ctx);
        }
        let is_active = self.active(&info.key).is_some();
        let has_no_fit_reason = self.strategy == Some(QueueingStrategy::BestEffortFIFO)
            && info.scheduling_hash.is_known()
            && self.no_fit_by_hash.contains_key(&info.scheduling_hash);
        if !is_active && (!backoff_expired(&info.obj, now) || has_no_fit_reason) {
            return self.insert_with_no_fit_reason(info, ctx);
        }
        self.push_or_update_active(info, ctx);
    }

    /// Deletes a workload, in any state.
    pub fn delete(&mut self, key: &WorkloadKey, ctx: OrderContext<'_>) {
        let restored = self.restore_class_of(key, ctx);
        self.with_workloads(ctx, |workloads, before| workloads.remove(key, before));
        if let Some((hash, false)) = restored {
            self.set_no_fit(hash);
        }
        self.forget_inflight(key);
        if self.preemptor.as_ref().is_some_and(|p| p.key == *key) {
            self.preemptor = None;
        }
    }

    /// Pops the head. It is inflight until it is requeued or deleted.
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
        let mut popped = self.with_workloads(ctx, PendingWorkloads::pop)?;
        if popped.last_evaluated_generation != popped.generation() {
            let info = Arc::make_mut(&mut popped);
            info.last_evaluated_generation = info.generation();
        }
        self.inflight = Some(popped);
        self.inflight.clone()
    }

    /// [`Self::pop`] of an empty heap.
    pub(crate) fn pop_nothing(&mut self) {
        self.pop_cycle += 1;
        self.inflight = None;
    }

    /// Whether the preemptions of this version of the workload are in progress.
    pub fn is_preemptor(&self, info: &Info) -> bool {
        let p = self.preemptor.as_ref();
        p.is_some_and(|p| p.key == info.key && p.generation == info.generation())
    }

    /// Requeues a workload that was not admitted: into the heap if its reason requeues immediately,
    /// else as inadmissible. True unless it was present.
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
        self.restore_class_of(&key, ctx);
        self.restore(info.scheduling_hash, ctx);
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
            .is_some_and(AssignmentClusterQueueState::pending_flavors);
        let requeued_since_pop = self.queue_inadmissible_cycle >= self.pop_cycle;
        if backoff_expired(&info.obj, now) && (immediate || requeued_since_pop || flavors_left) {
            if self.inadmissible(&key).is_some() {
                return self.with_workloads(ctx, |w, before| w.move_to_active(&key, before));
            }
            return self.push_active_if_not_present(info, ctx);
        }
        if self.workloads.get(&key).is_some() {
            return false;
        }
        let hash = info.scheduling_hash;
        self.insert_inadmissible(info, ctx);
        if hash.is_known() && matches!(reason, R::NoFit | R::PreemptionNoCandidates) {
            self.mark_hash_inadmissible(hash, quota_reserved_reason, ctx);
            if let Some(no_fit) = self.no_fit_by_hash.get_mut(&hash) {
                no_fit.since = Some(now);
            }
        }
        true
    }

    /// Marks a scheduling hash that does not fit: its workloads become inadmissible, now and when
    /// they are added. Returns how many were active. With StrictFIFO the head blocks the queue
    /// instead.
    pub fn mark_hash_inadmissible(
        &mut self,
        hash: EquivalenceHash,
        reason: Option<QuotaReservedReason>,
        ctx: OrderContext<'_>,
    ) -> usize {
        if self.strategy != Some(QueueingStrategy::BestEffortFIFO) || !hash.is_known() {
            return 0;
        }
        self.restore(hash, ctx);
        let no_fit = self.no_fit_by_hash.entry(hash).or_default();
        no_fit.reason = reason.unwrap_or(QuotaReservedReason::PendingEvaluation);
        self.with_workloads(ctx, |workloads, before| {
            workloads.move_hash_to_inadmissible(hash, before)
        })
    }

    /// The reason that an inadmissible workload was not evaluated, if it was not.
    pub fn no_fit_reason(&self, key: &WorkloadKey) -> Option<QuotaReservedReason> {
        let hash = self.inadmissible(key)?.scheduling_hash;
        Some(self.no_fit_by_hash.get(&hash)?.reason)
    }

    /// The time at which an inadmissible workload became so with those of its scheduling hash, if it did.
    pub(crate) fn no_fit_since(&self, key: &WorkloadKey) -> Option<Timestamp> {
        let hash = self.inadmissible(key)?.scheduling_hash;
        self.no_fit_by_hash.get(&hash)?.since
    }

    /// Whether the namespace selector selects a namespace.
    pub(crate) fn selects(&self, cluster_objects: &ClusterObjects, namespace: &str) -> bool {
        let labels = cluster_objects.namespace(namespace);
        labels.is_some_and(|labels| self.selector.matches(labels))
    }

    /// Moves inadmissible workloads to the heap, except those whose namespace does not match or
    /// whose backoff has not expired. Returns how many.
    pub fn requeue_inadmissible(
        &mut self,
        cluster_objects: &ClusterObjects,
        ctx: OrderContext<'_>,
        now: Timestamp,
    ) -> usize {
        self.queue_inadmissible_cycle = self.pop_cycle;
        self.no_fit_by_hash.clear();
        let selector = self.selector.clone();
        let namespace_matches = |namespace: &str| {
            let labels = cluster_objects.namespace(namespace);
            labels.is_some_and(|l| selector.matches(l))
        };
        let may_requeue = |info: &Info| {
            namespace_matches(predicates::namespace(&info.obj)) && backoff_expired(&info.obj, now)
        };
        let reordered = self.uses_admission_fair_sharing;
        self.with_workloads(ctx, |workloads, before| {
            workloads.move_inadmissible_to_active(namespace_matches, may_requeue, reordered, before)
        })
    }

    /// The number of active and inflight workloads, and of inadmissible ones.
    pub fn counts(&self) -> (usize, usize) {
        (
            self.workloads.active_count() + usize::from(self.inflight.is_some()),
            self.workloads.inadmissible_count(),
        )
    }

    /// Whether the heap is empty.
    pub fn is_idle(&self) -> bool {
        self.workloads.active_count() == 0
    }

    /// The keys of the active workloads, sorted.
    pub fn active_keys(&self) -> Vec<WorkloadKey> {
        sorted_keys(self.workloads.iter_active())
    }

    /// The keys of the inadmissible workloads, sorted.
    pub fn inadmissible_keys(&self) -> Vec<WorkloadKey> {
        sorted_keys(self.workloads.iter_inadmissible())
    }

    /// The active and the inflight workloads, in no particular order.
    pub(crate) fn iter_active_and_inflight(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.workloads.iter_active().chain(&self.inflight)
    }

    /// The inadmissible workloads, in no particular order.
    pub(crate) fn iter_inadmissible(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.workloads.iter_inadmissible()
    }

    /// All workloads, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.iter_active_and_inflight()
            .chain(self.iter_inadmissible())
    }

    /// All workloads in queue order.
    pub fn in_order(&self, ctx: OrderContext<'_>) -> Vec<Arc<Info>> {
        let mut all: Vec<QueuedWorkload> = self.iter().cloned().map(QueuedWorkload::from).collect();
        all.sort_by(|a, b| {
            let by_key = || a.info.key.cmp(&b.info.key);
            self.compare(a, b, ctx).then_with(by_key)
        });
        all.into_iter().map(|queued| queued.info).collect()
    }
}

/// Retries that are skipped. See [`crate::Engine::enable_cycle_skipping`].
impl PendingClusterQueue {
    /// Skips retries of classes that cannot fit from now on. Whether they can depends on `width`
    /// numbers of each class.
    pub(crate) fn skip_retries(&mut self, width: usize, ctx: OrderContext<'_>) {
        self.with_workloads(ctx, |workloads, before| {
            workloads.skip_retries(width, before)
        });
    }

    /// Records the numbers of the class of a workload that did not fit and was requeued.
    pub(crate) fn record_no_fit(
        &mut self,
        key: &WorkloadKey,
        hash: EquivalenceHash,
        numbers: Arc<[i64]>,
    ) {
        self.workloads.record_no_fit(key, hash, numbers);
        self.set_no_fit(hash);
    }

    /// Whether the next cycle evaluates a workload whose result is not known.
    pub(crate) fn has_unknown_head(&mut self, ctx: OrderContext<'_>) -> bool {
        if self.is_strict() {
            return !self.is_idle() && self.workloads.head_numbers().is_none();
        }
        let first = self.first_preemptor().cloned();
        self.with_workloads(ctx, |workloads, before| {
            workloads.mark_active_no_fit(first.as_ref(), before)
        });
        self.workloads.has_active_head(first.as_ref())
    }

    /// The order key of the first class with known numbers, if any is requeued; of a StrictFIFO
    /// queue only the head is evaluated.
    pub(crate) fn first_retry(&mut self) -> Option<QueueOrderKey> {
        if self.is_strict() {
            return Some(self.workloads.head_numbers()?.0.queue_order_key());
        }
        self.workloads.first_no_fit()
    }

    /// The retries that the next cycles evaluate. A class may fit if its order key and its numbers
    /// pass a test.
    pub(crate) fn next_retries(
        &mut self,
        may_fit: &impl Fn(QueueOrderKey, &[i64]) -> bool,
    ) -> NextRetries {
        if !self.is_strict() {
            let first = self.first_preemptor().cloned();
            return self.workloads.next_retries(may_fit, first.as_ref());
        }
        let head = self.workloads.head_numbers();
        let blocked = head.filter(|(head, numbers)| !may_fit(head.queue_order_key(), numbers));
        NextRetries {
            no_fit: 0,
            more: blocked.is_none() && !self.is_idle(),
            blocked: blocked.map(|(head, _)| head.key.clone()),
        }
    }

    /// Makes the first requeued classes inadmissible again without an evaluation.
    pub(crate) fn skip_classes(&mut self, classes: usize, ctx: OrderContext<'_>) {
        self.with_workloads(ctx, |workloads, before| workloads.unmark(classes, before));
    }

    /// Records a workload that waits for the end of preemptions, after a number of changes of the
    /// cache.
    pub(crate) fn record_waiting(&mut self, key: WorkloadKey, changes: u64) {
        self.waiting = Some((key, changes));
    }

    /// The head, if it waits for the end of preemptions and nothing changed since.
    pub(crate) fn waiting_head(&self, changes: u64) -> Option<&WorkloadKey> {
        let (key, since) = self.waiting.as_ref()?;
        let is_preemptor = self.preemptor.as_ref().is_some_and(|p| p.key == *key);
        let is_head = self.workloads.head().is_some_and(|head| head.key == *key);
        (*since == changes && is_preemptor && is_head).then_some(key)
    }

    fn is_strict(&self) -> bool {
        self.strategy == Some(QueueingStrategy::StrictFIFO)
    }

    /// The preemptor that is before all other workloads.
    fn first_preemptor(&self) -> Option<&WorkloadKey> {
        let preemptor = self.preemptor.as_ref();
        preemptor.filter(|p| p.sticky).map(|p| &p.key)
    }

    fn set_no_fit(&mut self, hash: EquivalenceHash) {
        if self.no_fit_by_hash.contains_key(&hash) {
            let first = self.first_preemptor().cloned();
            self.workloads.set_no_fit(hash, first.as_ref());
        }
    }

    fn insert_with_no_fit_reason(&mut self, info: Arc<Info>, ctx: OrderContext<'_>) {
        let hash = info.scheduling_hash;
        self.insert_inadmissible(info, ctx);
        self.set_no_fit(hash);
    }

    /// Ends the skipping of retries of a class; true if the class is active afterwards.
    fn restore(&mut self, hash: EquivalenceHash, ctx: OrderContext<'_>) -> Option<bool> {
        if !self.workloads.is_no_fit(hash) {
            return None;
        }
        let restored =
            self.with_workloads(ctx, |workloads, before| workloads.restore(hash, before));
        if restored == Some(false) {
            self.no_fit_by_hash.entry(hash).or_default();
        }
        restored
    }

    /// Ends the skipping of retries of the class of a workload.
    fn restore_class_of(
        &mut self,
        key: &WorkloadKey,
        ctx: OrderContext<'_>,
    ) -> Option<(EquivalenceHash, bool)> {
        let hash = self.workloads.hash_of(key)?;
        Some((hash, self.restore(hash, ctx)?))
    }
}

impl Default for PendingClusterQueue {
    fn default() -> Self {
        PendingClusterQueue::new()
    }
}

fn sorted_keys<'a>(infos: impl Iterator<Item = &'a Arc<Info>>) -> Vec<WorkloadKey> {
    let mut keys: Vec<WorkloadKey> = infos.map(|i| i.key.clone()).collect();
    keys.sort();
    keys
}

/// Whether the requeue backoff of a workload has expired.
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

/// Whether an update may make an inadmissible workload admissible.
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
