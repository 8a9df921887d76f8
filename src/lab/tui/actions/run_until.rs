//! Running lab time to an event.

use jiff::Timestamp;
use kueue_lab_reason::StopCondition;

use super::Action;
use super::set_speed::{FIXED_SPEED, can_change_clock};
use crate::backend::{Backend, OperationError};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{Severity, State, UnavailableReason};

/// Runs lab time to the next scheduling cycle; one that waits already runs first.
#[derive(Debug)]
pub(crate) struct StepCycle;

/// Runs lab time to an event. A command: the argument is the event.
#[derive(Debug)]
pub(crate) struct RunUntil;

impl Action for StepCycle {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_change_clock(state)
    }

    fn run(&self, _: &mut State) -> Vec<Cmd> {
        vec![Cmd::operation(RunClockUntil(StopCondition::Cycle))]
    }
}

impl Action for RunUntil {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_change_clock(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        self.run_with(state, "")
    }

    fn run_with(&self, state: &mut State, argument: &str) -> Vec<Cmd> {
        match argument.parse::<StopCondition>() {
            Ok(event) => vec![Cmd::operation(RunClockUntil(event))],
            Err(error) => {
                state.notify(Severity::Hint, error.to_string());
                Vec::new()
            }
        }
    }

    fn complete(&self, _: &State) -> Vec<String> {
        StopCondition::ALL.map(|event| event.to_string()).to_vec()
    }
}

/// Resumes lab time until an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunClockUntil(pub(crate) StopCondition);

impl Operation for RunClockUntil {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        Msg::OperationFinished(match backend.clock {
            Some(clock) => clock.run_until(self.0).await,
            None => Err(OperationError(FIXED_SPEED.to_owned())),
        })
    }
}
