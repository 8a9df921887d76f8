//! Hiding finished workloads.

use super::Action;
use crate::msg::Cmd;
use crate::state::{State, UnavailableReason, requires};

/// Shows or hides finished Workloads.
#[derive(Debug)]
pub(crate) struct ToggleFinished;

impl Action for ToggleFinished {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::list(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        state.ui.hide_finished = !state.ui.hide_finished;
        Vec::new()
    }
}
