//! Setting the speed of lab time.

use jiff::Timestamp;

use super::Action;
use super::pause_clock::SetPaused;
use crate::backend::{Backend, OperationError};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{Severity, State, UnavailableReason};

pub(super) const FIXED_SPEED: &str =
    "only a lab with the embedded cluster has a clock that can be changed";

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
                vec![Cmd::operation(ChangeSpeed {
                    speed,
                    resumes: true,
                })]
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

/// The speeds of [`StepSpeed`].
const SPEEDS: [f64; 13] = [
    0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1000.0,
];

/// Sets the next higher or lower one of some speeds; a paused clock stays paused.
#[derive(Debug)]
pub(crate) enum StepSpeed {
    /// The next higher one.
    Faster,
    /// The next lower one.
    Slower,
}

impl Action for StepSpeed {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_change_clock(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let now = state.env.speed;
        let next = match self {
            Self::Faster => SPEEDS.into_iter().find(|speed| *speed > now),
            Self::Slower => SPEEDS.into_iter().rev().find(|speed| *speed < now),
        };
        let Some(speed) = next else {
            state.notify(Severity::Hint, format!("the speed is {now} already"));
            return Vec::new();
        };
        vec![Cmd::operation(ChangeSpeed {
            speed,
            resumes: false,
        })]
    }
}

/// Changes the speed of lab time.
#[derive(Clone, Debug, PartialEq)]
struct ChangeSpeed {
    speed: f64,
    /// Whether a paused clock is resumed.
    resumes: bool,
}

impl Operation for ChangeSpeed {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        let Some(clock) = backend.clock else {
            let error = OperationError(FIXED_SPEED.to_owned());
            return Msg::OperationFinished(Err(error));
        };
        Msg::OperationFinished(match self.resumes {
            true => clock.run_at(self.speed).await,
            false => clock.set_speed(self.speed).await,
        })
    }
}
