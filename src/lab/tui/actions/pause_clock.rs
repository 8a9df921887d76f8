//! Pausing and resuming lab time.

use jiff::Timestamp;

use super::Action;
use super::set_speed::{FIXED_SPEED, can_change_clock};
use crate::backend::{Backend, OperationError};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{State, UnavailableReason};

/// Pauses lab time and what runs in it, or resumes it.
#[derive(Debug)]
pub(crate) enum PauseClock {
    /// Pauses it, or resumes it if it is paused.
    Toggle,
    /// Pauses it.
    Pause,
    /// Resumes it.
    Resume,
}

impl Action for PauseClock {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_change_clock(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let paused = match self {
            Self::Toggle => !state.env.is_paused,
            Self::Pause => true,
            Self::Resume => false,
        };
        vec![Cmd::operation(SetPaused(paused))]
    }
}

/// Pauses or resumes lab time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SetPaused(pub(crate) bool);

impl Operation for SetPaused {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        Msg::OperationFinished(match backend.clock {
            Some(clock) => clock.set_paused(self.0).await,
            None => Err(OperationError(FIXED_SPEED.to_owned())),
        })
    }
}
