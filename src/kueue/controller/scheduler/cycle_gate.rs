//! [`CycleGate`]: holds scheduling cycles while the clock is paused, and pauses it at a requested event.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::watch;

use kueue_lab_api::v1beta2::Workload;
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::Change;
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use kueue_lab_reason::{CycleHead, StopCondition};

/// The gate before each scheduling cycle. Clones share it; instances of the controller that follow each other have the
/// same one.
#[derive(Clone, Debug, Default)]
pub struct CycleGate {
    state: Arc<watch::Sender<GateState>>,
}

/// The state of a [`CycleGate`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateState {
    /// The event at which the clock will be paused.
    pub until: Option<StopCondition>,
    /// The event at which the clock was paused, until it is resumed.
    pub stopped: Option<Stop>,
    /// Whether a cycle with heads waits until the clock is resumed.
    pub cycle_waits: bool,
    /// The waiting cycle runs without another check of its heads.
    passes: bool,
}

/// An event at which the clock was paused.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The requested event.
    pub condition: StopCondition,
    /// The lab time.
    pub at: Timestamp,
    /// The Workload that was evicted or is finished; none before a cycle.
    pub workload: Option<WorkloadKey>,
}

impl CycleGate {
    /// The state, which changes with each request and each pause.
    pub fn subscribe(&self) -> watch::Receiver<GateState> {
        self.state.subscribe()
    }

    /// Runs the clock until an event. A cycle that waits already runs first if the clock was paused before it by a
    /// request, or if the next cycle is requested.
    pub fn run_until(&self, condition: StopCondition, clock: &Clock) {
        self.state.send_modify(|state| {
            let before_cycle = state.stopped.take().is_some_and(|s| s.workload.is_none());
            let is_next = condition == StopCondition::Cycle;
            state.passes = state.cycle_waits && (is_next || before_cycle);
            state.until = Some(condition);
        });
        clock.resume();
    }

    /// Withdraws the request, if there is one: the clock is paused or resumed by a user.
    pub fn withdraw(&self) {
        self.state.send_if_modified(|state| {
            let is_changed = state.until.is_some() || state.stopped.is_some();
            (state.until, state.stopped) = (None, None);
            is_changed
        });
    }

    /// Waits until the next cycle may begin: the clock runs, and its `heads` do not meet the request.
    pub(super) async fn before_cycle(&self, clock: &Clock, heads: impl Fn() -> Vec<CycleHead>) {
        if !clock.is_paused() && self.state.borrow().until.is_none() {
            return;
        }
        self.state.send_modify(|state| state.cycle_waits = true);
        loop {
            clock.running().await;
            if !clock.is_paused() && !self.stops_before_cycle(clock, &heads) {
                break;
            }
        }
        self.state.send_modify(|state| {
            (state.cycle_waits, state.passes) = (false, false);
        });
    }

    /// Pauses the clock if the heads of the cycle meet the request.
    fn stops_before_cycle(&self, clock: &Clock, heads: &impl Fn() -> Vec<CycleHead>) -> bool {
        let (until, passes) = {
            let state = self.state.borrow();
            (state.until, state.passes)
        };
        until.filter(|_| !passes).is_some_and(|condition| {
            condition.is_met_by_cycle(heads) && self.stop(condition, None, clock)
        })
    }

    /// Pauses the clock when a Workload is evicted or finished, if that is the request.
    pub(crate) fn observe_workload(&self, change: &Change<Workload>, clock: &Clock) {
        let Change::Updated { old, new } = change else {
            return;
        };
        let Some(condition) = self.state.borrow().until else {
            return;
        };
        let has_begun = |is_true: fn(&Workload) -> bool| is_true(new) && !is_true(old);
        let is_met = match condition {
            StopCondition::Eviction => has_begun(predicates::is_evicted),
            StopCondition::Finish => has_begun(predicates::is_finished),
            StopCondition::Cycle | StopCondition::Admission | StopCondition::Preemption => false,
        };
        if is_met {
            self.stop(condition, Some(predicates::key(new)), clock);
        }
    }

    /// Pauses the clock, unless the request was withdrawn meanwhile.
    fn stop(&self, condition: StopCondition, workload: Option<WorkloadKey>, clock: &Clock) -> bool {
        self.state.send_if_modified(|state| {
            if state.until != Some(condition) {
                return false;
            }
            clock.pause();
            state.until = None;
            state.stopped = Some(Stop {
                condition,
                at: clock.now(),
                workload,
            });
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use kueue_lab_reason::{HeadOutcome, PendingReason};

    fn head(outcome: HeadOutcome) -> CycleHead {
        CycleHead {
            workload: "default/w".to_owned(),
            cluster_queue: "q".to_owned(),
            priority: 0,
            outcome,
        }
    }

    fn waits() -> HeadOutcome {
        HeadOutcome::Waits {
            reason: PendingReason::OnHold,
        }
    }

    fn preempts() -> HeadOutcome {
        HeadOutcome::Preempts {
            targets: vec!["default/t".to_owned()],
        }
    }

    /// Whether the next cycle begins now.
    fn begins(gate: &CycleGate, clock: &Clock, outcome: &RefCell<HeadOutcome>) -> bool {
        let heads = || vec![head(outcome.borrow().clone())];
        let mut before = pin!(gate.before_cycle(clock, heads));
        is_ready(before.as_mut())
    }

    fn is_ready(future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        future.poll(&mut context) == Poll::Ready(())
    }

    fn with_runtime(test: impl AsyncFnOnce()) {
        kueue_lab_clock::virtual_runtime().unwrap().block_on(test());
    }

    #[test]
    fn a_step_runs_the_waiting_cycle_and_pauses_before_the_next_one() {
        with_runtime(async || {
            let (gate, clock) = (CycleGate::default(), Clock::adjustable(1.0));
            let outcome = RefCell::new(waits());
            assert!(begins(&gate, &clock, &outcome));
            clock.pause();
            let heads = || vec![head(outcome.borrow().clone())];
            let mut waiting = pin!(gate.before_cycle(&clock, heads));
            assert!(!is_ready(waiting.as_mut()));
            assert!(gate.subscribe().borrow().cycle_waits);
            gate.run_until(StopCondition::Cycle, &clock);
            assert!(is_ready(waiting.as_mut()));
            assert!(!clock.is_paused() && !gate.subscribe().borrow().cycle_waits);
            assert!(!begins(&gate, &clock, &outcome));
            let stopped = gate.subscribe().borrow().stopped.clone();
            assert_eq!(stopped.map(|s| s.condition), Some(StopCondition::Cycle));
            assert!(clock.is_paused());
        });
    }

    #[test]
    fn a_run_to_a_preemption_lets_other_cycles_pass_and_pauses_before_it() {
        with_runtime(async || {
            let (gate, clock) = (CycleGate::default(), Clock::adjustable(1.0));
            let outcome = RefCell::new(waits());
            gate.run_until(StopCondition::Preemption, &clock);
            assert!(begins(&gate, &clock, &outcome));
            *outcome.borrow_mut() = preempts();
            let heads = || vec![head(outcome.borrow().clone())];
            let mut waiting = pin!(gate.before_cycle(&clock, heads));
            assert!(!is_ready(waiting.as_mut()) && clock.is_paused());
            // The cycle before which it stopped runs when the next preemption is requested.
            gate.run_until(StopCondition::Preemption, &clock);
            assert!(is_ready(waiting.as_mut()));
            assert!(!begins(&gate, &clock, &outcome) && clock.is_paused());
        });
    }

    #[test]
    fn a_cycle_that_waits_in_a_pause_of_the_user_is_checked() {
        with_runtime(async || {
            let (gate, clock) = (CycleGate::default(), Clock::adjustable(1.0));
            let outcome = RefCell::new(preempts());
            clock.pause();
            let heads = || vec![head(outcome.borrow().clone())];
            let mut waiting = pin!(gate.before_cycle(&clock, heads));
            assert!(!is_ready(waiting.as_mut()));
            gate.run_until(StopCondition::Preemption, &clock);
            assert!(!is_ready(waiting.as_mut()) && clock.is_paused());
            gate.withdraw();
            clock.resume();
            assert!(is_ready(waiting.as_mut()));
        });
    }

    #[test]
    fn an_eviction_pauses_the_clock_if_it_is_requested() {
        with_runtime(async || {
            let (gate, clock) = (CycleGate::default(), Clock::adjustable(1.0));
            let old = std::sync::Arc::new(Workload::default());
            let mut new = Workload::default();
            new.metadata.name = Some("w".to_owned());
            new.metadata.namespace = Some("default".to_owned());
            new.status.conditions = vec![condition("Evicted")];
            let new = std::sync::Arc::new(new);
            let change = Change::Updated { old, new };
            gate.observe_workload(&change, &clock);
            gate.run_until(StopCondition::Finish, &clock);
            gate.observe_workload(&change, &clock);
            assert!(!clock.is_paused());
            gate.run_until(StopCondition::Eviction, &clock);
            gate.observe_workload(&change, &clock);
            assert!(clock.is_paused());
            let stopped = gate.subscribe().borrow().stopped.clone().unwrap();
            assert_eq!(stopped.workload, Some(WorkloadKey::new("default", "w")));
        });
    }

    fn condition(type_: &str) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition {
        k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition {
            type_: type_.to_owned(),
            status: "True".to_owned(),
            reason: "Preempted".to_owned(),
            message: String::new(),
            last_transition_time: Clock::real().time(),
            observed_generation: None,
        }
    }
}
