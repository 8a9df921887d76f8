//! Scheduling cycles: begin, execution of the actions by the caller, finish.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{AssumedWorkload, Engine, order_context};
use crate::afs::entry_penalty;
use crate::cycle::{
    Action, ActionKind, ActionOutcome, CycleCounts, DecidedCycle, Decision, Entry, EntryStatus,
    SchedulingCycle,
};
use crate::messages;
use crate::queue::{Head, QuotaReservedReason, RequeueReason};
use crate::resources::Requests;
use crate::snapshot_transaction::{LocalQueueUsages, SnapshotTransaction};
use crate::status::{self, StatusChange};
use crate::workload::{Info, WorkloadKey, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_reason::InadmissibleCause;

/// A finished cycle.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CycleResult {
    /// Its number.
    pub number: i64,
    /// Whether any workload was admitted or preempted; without progress the scheduler slows down.
    pub progress: bool,
    /// The decision on each head.
    pub decisions: Vec<Arc<Decision>>,
    /// The API writes to execute now.
    pub actions: Vec<Action>,
    /// Counters for metrics.
    pub counts: CycleCounts,
}

impl Engine {
    /// Whether a cycle would have heads. Without heads no workload is inflight any more.
    pub fn has_heads(&mut self) -> bool {
        let cache = &self.cache;
        self.queues
            .has_heads(|name| cache.cluster_queue(name).is_some_and(|q| q.is_active()))
    }

    /// The number of broadcasts to a scheduler that waits for heads.
    pub fn broadcasts(&self) -> u64 {
        self.queues.broadcasts()
    }

    /// Pops the head of every active ClusterQueue, and the workloads that are due for a second
    /// pass. Each is inflight until it is requeued.
    pub fn take_heads(&mut self) -> Vec<Head> {
        let cache = &self.cache;
        let active = |name: &str| cache.cluster_queue(name).is_some_and(|q| q.is_active());
        self.queues.heads(active, order_context!(self))
    }

    /// Begins a cycle: pops the heads and decides on them. None without heads. The actions are
    /// executed in order, those of kind Admit asynchronously; then the cycle is finished.
    pub fn begin_cycle(&mut self, now: Timestamp) -> Option<DecidedCycle> {
        let heads = self.take_heads();
        if heads.is_empty() {
            return None;
        }
        self.cycle += 1;
        self.changes_before_cycle = self.cache.changes();
        let decided = self.run_cycle(now, |run| {
            run.nominate(heads);
            run.sort();
            run.process_entries()
        });
        Some(self.assume_workloads(decided, 0, now))
    }

    /// Resumes a cycle that waited until the pods of all admitted workloads are ready. Earlier
    /// actions are not repeated.
    pub fn resume_cycle(&mut self, decided: DecidedCycle, now: Timestamp) -> DecidedCycle {
        let done = decided.actions.len();
        let decided = self.run_cycle(now, |run| run.resume(decided));
        self.assume_workloads(decided, done, now)
    }

    /// Whether the pods of all admitted workloads are ready.
    pub fn pods_ready_for_all_admitted_workloads(&self) -> bool {
        self.cache.pods_ready_for_all_admitted_workloads()
    }

    pub(super) fn run_cycle(
        &mut self,
        now: Timestamp,
        f: impl FnOnce(&mut SchedulingCycle<'_>) -> crate::cycle::CycleProgress,
    ) -> DecidedCycle {
        let usages = LocalQueueUsages {
            ledger: &self.ledger,
            weights: &self.store.weights,
        };
        let snapshot = SnapshotTransaction::new(&mut self.cache, &self.config, Some(usages), now);
        let expectations = &mut self.expectations;
        let mut run =
            SchedulingCycle::new(snapshot, &self.cluster_objects, expectations, self.cycle);
        let progress = f(&mut run);
        run.into_decided(progress)
    }

    /// Adds the assumed workloads to the cache before their admission is written.
    fn assume_workloads(
        &mut self,
        mut decided: DecidedCycle,
        done: usize,
        now: Timestamp,
    ) -> DecidedCycle {
        let mut rejected = Vec::new();
        for (i, action) in decided.actions.iter().enumerate().skip(done) {
            if action.kind != ActionKind::Admit {
                continue;
            }
            let entry = &mut decided.entries[decided.owners[i]];
            let Some(admitted) = entry.admitted.take() else {
                continue;
            };
            let counted = self
                .cache
                .assume_workload(&admitted, &entry.info, &self.config);
            if !counted.unwrap_or(false) {
                entry.status = EntryStatus::Nominated;
                let workload = entry.info.key.to_string();
                entry.inadmissible = InadmissibleCause::NotCached { workload }.into();
                rejected.push(i);
                continue;
            }
            let penalty = self.push_entry_penalty(&entry.info, now);
            let assumed = AssumedWorkload {
                info: entry.info.clone(),
                penalty,
            };
            self.assumed.insert(entry.info.key.clone(), assumed);
        }
        for i in rejected.into_iter().rev() {
            decided.actions.remove(i);
            decided.owners.remove(i);
        }
        decided
    }

    /// Adds an entry penalty to the LocalQueue of an assumed workload, if its ClusterQueue uses
    /// admission fair sharing. In a second pass it has one already.
    fn push_entry_penalty(&mut self, info: &Info, now: Timestamp) -> bool {
        if !self.should_apply_entry_penalty(info) {
            return false;
        }
        let (Some(afs), Some(queue)) = (
            self.config.afs(),
            self.cache.cluster_queue(&info.cluster_queue),
        ) else {
            return false;
        };
        let mut requests = info.sum_total_requests();
        if self.config.ignores_undeclared_resources() {
            let covered = requests
                .iter()
                .filter(|(r, _)| queue.resource_group_for(*r).is_some());
            requests = covered.collect::<Requests>();
        }
        let penalty = entry_penalty(&requests, afs);
        self.ledger
            .push_penalty(&info.local_queue, &info.key, penalty, now);
        true
    }

    /// Whether a workload gets an entry penalty.
    pub fn should_apply_entry_penalty(&self, info: &Info) -> bool {
        self.config.afs().is_some()
            && !predicates::has_quota_reservation(&info.obj)
            && self
                .cache
                .cluster_queue(&info.cluster_queue)
                .is_some_and(|q| q.uses_admission_fair_sharing())
    }

    /// Finishes a cycle: entries that were not admitted are requeued. `outcomes` has the actions
    /// that failed, by number; those of kind Admit may be reported later.
    pub fn finish_cycle(
        &mut self,
        decided: DecidedCycle,
        outcomes: &BTreeMap<usize, ActionOutcome>,
        now: Timestamp,
    ) -> CycleResult {
        self.finish(decided, outcomes, now).0
    }

    /// Finishes a cycle; returns its actions as well.
    fn finish(
        &mut self,
        mut decided: DecidedCycle,
        outcomes: &BTreeMap<usize, ActionOutcome>,
        now: Timestamp,
    ) -> (CycleResult, Vec<Action>) {
        for (key, uid) in decided.record_outcomes(outcomes) {
            self.expectations.observed(&key, &uid);
        }
        let admissions = decided
            .actions
            .iter()
            .filter(|a| a.kind == ActionKind::Admit);
        let admissions: Vec<(WorkloadKey, ActionOutcome)> = admissions
            .filter_map(|a| Some((a.workload.clone(), *outcomes.get(&a.id)?)))
            .collect();
        let mut cycle = CycleResult {
            number: decided.number,
            progress: false,
            decisions: Vec::with_capacity(decided.entries.len()),
            actions: Vec::new(),
            counts: std::mem::take(&mut decided.counts),
        };
        for entry in std::mem::take(&mut decided.entries) {
            let is_assumed_or_evicted =
                matches!(entry.status, EntryStatus::Assumed | EntryStatus::Evicted);
            cycle.progress |= is_assumed_or_evicted;
            self.finish_entry(entry, !is_assumed_or_evicted, &mut cycle, now);
        }
        for entry in std::mem::take(&mut decided.rejected) {
            self.finish_entry(entry, true, &mut cycle, now);
        }
        for (key, outcome) in admissions {
            self.finish_admission(&key, outcome, now);
        }
        (cycle, decided.actions)
    }

    /// Runs a whole cycle; all its actions succeed.
    pub fn cycle(&mut self, now: Timestamp) -> Option<CycleResult> {
        let decided = self.begin_cycle(now)?;
        let outcomes = decided
            .actions
            .iter()
            .map(|a| (a.id, ActionOutcome::Done))
            .collect();
        let (mut cycle, mut actions) = self.finish(decided, &outcomes, now);
        actions.append(&mut cycle.actions);
        cycle.actions = actions;
        Some(cycle)
    }

    fn finish_entry(
        &mut self,
        mut entry: Entry,
        requeue: bool,
        cycle: &mut CycleResult,
        now: Timestamp,
    ) {
        if entry.status != EntryStatus::NotNominated
            && requeue
            && entry.requeue_reason == RequeueReason::Generic
        {
            entry.requeue_reason = RequeueReason::FailedAfterNomination;
        }
        let no_fit = self.no_fit_workload(&entry).filter(|_| requeue);
        let waits = requeue && self.waits_for_preemptions(&entry);
        let waiting = waits.then(|| (entry.info.cluster_queue.clone(), entry.info.key.clone()));
        if let Some(mut decision) = entry.decision.take() {
            decision.status = entry.status;
            decision.inadmissible.clone_from(&entry.inadmissible);
            decision.reason = entry.quota_reserved_reason;
            decision.requeue_reason = entry.requeue_reason;
            let decision = Arc::new(decision);
            if self.store.workload(&decision.workload).is_some() {
                self.decisions
                    .insert(decision.workload.clone(), decision.clone());
            }
            cycle.decisions.push(decision);
        }
        if requeue && let Some(mut action) = self.requeue_and_update(entry, now) {
            action.id = cycle.actions.len();
            cycle.actions.push(action);
        }
        if let Some(no_fit) = no_fit {
            self.record_no_fit(no_fit);
        }
        if let Some((queue, key)) = waiting {
            self.record_waiting(&queue, key);
        }
    }

    /// Requeues an entry and returns the action that reports why it was not admitted, if any.
    pub fn requeue_and_update(&mut self, mut entry: Entry, now: Timestamp) -> Option<Action> {
        use EntryStatus as S;
        if entry.status != S::NotNominated && entry.requeue_reason == RequeueReason::Generic {
            entry.requeue_reason = RequeueReason::FailedAfterNomination;
        }
        let (requeue_reason, quota) = (entry.requeue_reason, entry.quota_reserved_reason);
        let second_pass = self.requeue(&mut entry.info, requeue_reason, quota, now);
        let info = &entry.info;
        let message = entry.inadmissible.message(&self.config.formatter);
        let (reason, change) = if second_pass {
            (c::event::SECOND_PASS_FAILED, None)
        } else if matches!(
            entry.status,
            S::NotNominated | S::Skipped | S::PreemptionGated
        ) {
            let reason = if self.config.gates.unadmitted_workloads_observability {
                quota.map_or("", QuotaReservedReason::as_str)
            } else {
                c::quota_reserved::PENDING
            };
            let requests = status::resource_requests(info, &self.config.formatter);
            let change = StatusChange::Unreserve {
                reason: reason.to_owned(),
                message: message.clone(),
                resource_requests: Some(requests),
                preemption_gated: entry.status == S::PreemptionGated,
            };
            (reason, Some(change))
        } else {
            return None;
        };
        let (key, uid) = (info.key.clone(), info.uid());
        let event = messages::unadmitted(key.clone(), uid, reason, message);
        Some(Action {
            id: 0,
            kind: ActionKind::Requeue,
            uid: uid.to_owned(),
            workload: key,
            change,
            events: vec![event],
            preemptor: None,
            then: None,
        })
    }

    /// Requeues a workload, or schedules a second pass for one that reserves quota; true in that
    /// case.
    fn requeue(
        &mut self,
        info: &mut Info,
        reason: RequeueReason,
        quota_reserved_reason: Option<QuotaReservedReason>,
        now: Timestamp,
    ) -> bool {
        let iteration = info.second_pass_iteration;
        if self
            .queues
            .second_pass
            .queue_if_needed(&info.obj, iteration, now)
        {
            return true;
        }
        let latest = self.store.workload(&info.key);
        let ctx = order_context!(self);
        self.queues.requeue_workload(
            info,
            latest,
            reason,
            quota_reserved_reason,
            &self.cluster_objects,
            ctx,
            now,
        );
        false
    }

    /// Records the outcome of an admission. After a failure the quota is released, and the workload
    /// is requeued unless it no longer exists.
    pub fn finish_admission(&mut self, key: &WorkloadKey, outcome: ActionOutcome, now: Timestamp) {
        let Some(mut assumed) = self.assumed.remove(key) else {
            return;
        };
        let info = &mut assumed.info;
        if outcome == ActionOutcome::Done {
            // A preemption that was expected meanwhile has to be issued again.
            self.expectations.observed(key, info.uid());
            return;
        }
        // It may not be in the cache any more.
        let _ = self.cache.delete_workload(key);
        if assumed.penalty {
            self.ledger.remove_penalty(&info.local_queue, key);
        }
        if outcome == ActionOutcome::Failed {
            self.requeue(info, RequeueReason::FailedAfterNomination, None, now);
        }
    }
}
