//! The scheduler: runs the engine's cycles and writes what they decide.
//!
//! Knows nothing of how decisions are made. A cycle starts when a queue has a head; one that gave
//! nobody quota is followed by the next one only after a little while, which grows up to 10 ms.

mod act;
mod pace;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use jiff::Timestamp;

use super::{Attempt, Shared};
use kueue_lab_admission::cycle::{Action, ActionKind, OpenCycle, Outcome};
use pace::Pace;

/// Starts the scheduler and the timers of the engine.
pub fn start(shared: &Shared) {
    let s = shared.clone();
    shared
        .ctx
        .tasks
        .spawn("engine-timers", async move { timers(&s).await });
    let s = shared.clone();
    shared
        .ctx
        .tasks
        .spawn("scheduler", async move { run(&s).await });
}

/// Lets the engine do in time what is due.
async fn timers(shared: &Shared) {
    let mut changes = shared.changes();
    loop {
        changes.mark_unchanged();
        let now = shared.now();
        let (moved, next) = {
            let mut engine = shared.engine();
            let moved = engine.advance(now);
            (moved, engine.next_deadline())
        };
        if moved > 0 {
            shared.wake();
            continue;
        }
        wait(shared, &mut changes, next).await;
    }
}

async fn wait(
    shared: &Shared,
    changes: &mut tokio::sync::watch::Receiver<()>,
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
        changed = changes.changed() => {
            if changed.is_err() {
                // Nobody can change anything any more: the controller is going down.
                std::future::pending::<()>().await;
            }
        }
        () = due => {}
    }
}

async fn run(shared: &Shared) {
    let mut pace = Pace::default();
    let mut changes = shared.changes();
    loop {
        let next = pace.next(shared.now());
        heads(shared, &mut changes).await;
        let progress = cycle(shared).await;
        pace.went(progress);
        shared.ctx.clock.sleep_until(next).await;
    }
}

/// Waits until a cycle would have heads. Once it waits it looks again only when the queues tell it
/// to.
async fn heads(shared: &Shared, changes: &mut tokio::sync::watch::Receiver<()>) {
    let mut heard = None;
    loop {
        changes.mark_unchanged();
        {
            let engine = shared.engine();
            let told = Some(engine.broadcasts());
            if std::mem::replace(&mut heard, told) != told && engine.has_heads() {
                return;
            }
        }
        wait(shared, changes, None).await;
    }
}

/// Runs one cycle; tells whether anybody got quota or was evicted by it.
async fn cycle(shared: &Shared) -> bool {
    let started = shared.now();
    let begun = shared.engine().begin_cycle(started);
    let Some(mut open) = begun else {
        return true;
    };
    let mut outcomes = BTreeMap::new();
    let mut done = 0;
    loop {
        carry_out(shared, &open, done, &mut outcomes).await;
        if !open.waiting {
            break;
        }
        done = open.actions.len();
        pods_ready(shared).await;
        let now = shared.now();
        open = shared.engine().resume_cycle(open, now);
    }
    let admitted = open.actions.iter().any(|a| a.kind == ActionKind::Admit);
    let now = shared.now();
    shared.attempted(&Attempt {
        admitted,
        took: now.duration_since(started).unsigned_abs(),
        counts: &open.counts,
    });
    let cycle = shared.changing(|engine| engine.finish_cycle(open, &outcomes, now));
    for action in &cycle.actions {
        act::carry_out(shared, action).await;
    }
    cycle.progress
}

/// Waits until the pods of all admitted workloads are ready.
async fn pods_ready(shared: &Shared) {
    let mut changes = shared.changes();
    loop {
        changes.mark_unchanged();
        if shared.engine().all_pods_ready() {
            return;
        }
        wait(shared, &mut changes, None).await;
    }
}

/// Carries out the actions of a cycle from `done` on, in order; admissions are written while the
/// cycle goes on.
async fn carry_out(
    shared: &Shared,
    open: &OpenCycle,
    done: usize,
    outcomes: &mut BTreeMap<usize, Outcome>,
) {
    let mut together: Vec<&Action> = Vec::new();
    for action in &open.actions[done.min(open.actions.len())..] {
        if action.kind == ActionKind::Preempt {
            together.push(action);
            continue;
        }
        evictions(shared, std::mem::take(&mut together), outcomes).await;
        if action.kind == ActionKind::Admit {
            admit(shared, action.clone());
        } else {
            let outcome = act::carry_out(shared, action).await;
            outcomes.insert(action.id, outcome);
        }
    }
    evictions(shared, together, outcomes).await;
}

/// Evicts the victims at once.
async fn evictions(
    shared: &Shared,
    actions: Vec<&Action>,
    outcomes: &mut BTreeMap<usize, Outcome>,
) {
    let results = join_all(actions.iter().map(|action| act::carry_out(shared, action))).await;
    outcomes.extend(actions.iter().map(|action| action.id).zip(results));
}

/// Writes an admission in a task of its own and tells the engine what came of it.
fn admit(shared: &Shared, action: Action) {
    let s = shared.clone();
    let action = Arc::new(action);
    shared.ctx.tasks.spawn("admit", async move {
        let outcome = act::carry_out(&s, &action).await;
        let now = s.now();
        s.changing(|engine| engine.settle_admission(&action.workload, outcome, now));
        if outcome == Outcome::Done
            && let Some(then) = &action.then
        {
            act::carry_out(&s, then).await;
        }
    });
}
