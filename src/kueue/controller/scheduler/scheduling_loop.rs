//! The scheduling loop: waits for heads, runs one cycle of the engine at a time and applies its
//! actions.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use jiff::Timestamp;

use super::apply_action;
use super::cycle_backoff::CycleBackoff;
use super::unchanged_cycles::UnchangedCycles;
use crate::{AdmissionAttempt, ControllerContext, MetricEvent};
use kueue_lab_controller_runtime::OrderedWatch;
use kueue_lab_engine::cycle::{Action, ActionKind, ActionOutcome, DecidedCycle};

pub(super) async fn wait_for_engine_change(
    shared: &ControllerContext,
    changes: &mut OrderedWatch<()>,
    deadline: Option<Timestamp>,
) {
    let due = async {
        match deadline {
            Some(at) => shared.ctx.clock.sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = changes.changed() => {}
        () = due => {}
    }
}

pub(super) async fn run_scheduling_loop(shared: &ControllerContext) {
    let mut backoff = CycleBackoff::default();
    let mut unchanged = UnchangedCycles::default();
    let mut changes = shared.engine_changes();
    loop {
        let next = backoff.next_cycle_at(shared.now());
        wait_for_heads(shared, &mut changes).await;
        let heads = || shared.next_cycle_heads();
        let gate = &shared.settings.cycle_gate;
        gate.before_cycle(&shared.ctx.clock, heads).await;
        let start = changes.version();
        let progress = run_cycle(shared).await;
        backoff.record_progress(progress);
        changes.mark_seen();
        let wait = unchanged.record(progress, start, changes.version());
        shared.ctx.clock.sleep_until(next).await;
        if let Some(wait) = wait.filter(|_| shared.ctx.clock.is_virtual()) {
            let deadline = shared.now().saturating_add(wait).ok();
            wait_for_engine_change(shared, &mut changes, deadline).await;
        }
    }
}

/// Waits until a cycle would have heads. Checks again only after a broadcast of the queues.
async fn wait_for_heads(shared: &ControllerContext, changes: &mut OrderedWatch<()>) {
    let mut seen_broadcasts = None;
    loop {
        changes.mark_seen();
        {
            let mut engine = shared.engine();
            let broadcasts = Some(engine.broadcasts());
            if std::mem::replace(&mut seen_broadcasts, broadcasts) != broadcasts
                && engine.has_heads()
            {
                return;
            }
        }
        wait_for_engine_change(shared, changes, None).await;
    }
}

/// Runs one cycle; returns whether it reserved quota or evicted a Workload.
async fn run_cycle(shared: &ControllerContext) -> bool {
    let mut running = shared.hold_scheduling().await;
    let started = shared.now();
    let decided = shared.engine().begin_cycle(started);
    let Some(mut decided) = decided else {
        return true;
    };
    let mut outcomes = BTreeMap::new();
    let mut done = 0;
    loop {
        apply_actions(shared, &decided, done, &mut outcomes).await;
        if !decided.waits_for_pods_ready {
            break;
        }
        done = decided.actions.len();
        drop(running);
        wait_for_pods_ready(shared).await;
        running = shared.hold_scheduling().await;
        let now = shared.now();
        decided = shared.engine().resume_cycle(decided, now);
    }
    let admitted = decided.actions.iter().any(|a| a.kind == ActionKind::Admit);
    let now = shared.now();
    let attempt = AdmissionAttempt {
        admitted,
        duration: now.duration_since(started).unsigned_abs(),
        counts: &decided.counts,
    };
    shared.notify_metric_event(&MetricEvent::AdmissionAttempt(attempt));
    let cycle = shared.update_engine(|engine| engine.finish_cycle(decided, &outcomes, now));
    for action in &cycle.actions {
        apply_action::apply_action(shared, action).await;
    }
    drop(running);
    cycle.progress
}

/// Waits until the pods of all admitted Workloads are ready.
async fn wait_for_pods_ready(shared: &ControllerContext) {
    let mut changes = shared.engine_changes();
    loop {
        changes.mark_seen();
        if shared.engine().pods_ready_for_all_admitted_workloads() {
            return;
        }
        wait_for_engine_change(shared, &mut changes, None).await;
    }
}

/// Applies the actions of a cycle from index `done` on, in order; admissions are written
/// concurrently with the cycle.
async fn apply_actions(
    shared: &ControllerContext,
    decided: &DecidedCycle,
    done: usize,
    outcomes: &mut BTreeMap<usize, ActionOutcome>,
) {
    let mut preemptions: Vec<&Action> = Vec::new();
    for action in &decided.actions[done.min(decided.actions.len())..] {
        if action.kind == ActionKind::Preempt {
            preemptions.push(action);
            continue;
        }
        issue_preemptions(shared, std::mem::take(&mut preemptions), outcomes).await;
        if action.kind == ActionKind::Admit {
            admit(shared, action.clone());
        } else {
            let outcome = apply_action::apply_action(shared, action).await;
            outcomes.insert(action.id, outcome);
        }
    }
    issue_preemptions(shared, preemptions, outcomes).await;
}

/// Evicts preemption targets concurrently.
async fn issue_preemptions(
    shared: &ControllerContext,
    actions: Vec<&Action>,
    outcomes: &mut BTreeMap<usize, ActionOutcome>,
) {
    let results = join_all(
        actions
            .iter()
            .map(|action| apply_action::apply_action(shared, action)),
    )
    .await;
    outcomes.extend(actions.iter().map(|action| action.id).zip(results));
}

/// Writes an admission in its own task and reports the outcome to the engine.
fn admit(shared: &ControllerContext, action: Action) {
    let s = shared.clone();
    let action = Arc::new(action);
    shared.ctx.tasks.spawn("admit", async move {
        let outcome = apply_action::apply_action(&s, &action).await;
        let now = s.now();
        s.update_engine(|engine| engine.finish_admission(&action.workload, outcome, now));
        if outcome == ActionOutcome::Done
            && let Some(then) = &action.then
        {
            apply_action::apply_action(&s, then).await;
        }
    });
}
