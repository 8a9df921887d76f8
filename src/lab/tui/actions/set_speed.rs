//! Setting the speed of lab time.

use jiff::Timestamp;

use super::Action;
use super::pause_clock::SetPaused;
use crate::backend::{Backend, OperationError};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{Severity, State, UnavailableReason};

pub(super) const FIXED_SPEED: &str =
    "only a lab with the embedded cluster in this process has a speed";

/// Sets the speed of lab time. A command: the argument is the speed, 0 to pause.
#[derive(Debug)]
pub(crate) struct SetSpeed;

/// Whether lab time can be changed, or why not.
pub(super) fn can_change_clock(state: &State) -> Result<(), UnavailableReason> {
    match state.env.can_set_speed {
        true => Ok(()),
        false => Err(UnavailableReason::Unsupported(FIXED_SPEED)),
    }
}

impl Action for SetSpeed {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_change_clock(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        self.run_with(state, "")
    }

    fn run_with(&self, state: &mut State, argument: &str) -> Vec<Cmd> {
        match argument.parse::<f64>() {
            Ok(0.0) => vec![Cmd::operation(SetPaused(true))],
            Ok(speed) if kueue_lab_clock::SPEED_RANGE.contains(&speed) => {
                vec![Cmd::operation(ChangeSpeed(speed))]
            }
            _ => {
                let text = format!(
                    "not a speed: {argument:?}; write :speed 10 for ten times as fast, or :speed 0 to pause"
                );
                state.notify(Severity::Hint, text);
                Vec::new()
            }
        }
    }
}

/// Changes the speed of lab time.
#[derive(Clone, Debug, PartialEq)]
struct ChangeSpeed(f64);

impl Operation for ChangeSpeed {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        Msg::OperationFinished(match backend.speed {
            Some(clock) => clock.set(self.0).await,
            None => Err(OperationError(FIXED_SPEED.to_owned())),
        })
    }
}
