//! Hiding finished workloads.

use super::Action;
use crate::msg::Cmd;
use crate::state::State;

/// Shows or hides finished Workloads.
#[derive(Debug)]
pub(crate) struct ToggleFinished;

impl Action for ToggleFinished {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        state.ui.hide_finished = !state.ui.hide_finished;
        Vec::new()
    }
}
