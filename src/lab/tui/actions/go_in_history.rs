//! Going back and forward in history.

use super::{Action, navigation};
use crate::msg::Cmd;
use crate::state::{State, UnavailableReason};

/// Goes to the previous or next location in history.
#[derive(Debug)]
pub(crate) enum GoInHistory {
    /// To the previous location.
    Back,
    /// To the next location.
    Forward,
}

impl Action for GoInHistory {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        let stack = match self {
            Self::Back => &state.ui.back_stack,
            Self::Forward => &state.ui.forward_stack,
        };
        match stack.is_empty() {
            true => Err(UnavailableReason::NotApplicable),
            false => Ok(()),
        }
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        navigation::go_history(state, matches!(self, Self::Back))
    }
}
