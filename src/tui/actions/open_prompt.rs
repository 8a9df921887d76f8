//! Opening the prompt.

use super::{Action, UnavailableReason, requires};
use crate::msg::Cmd;
use crate::state::State;
use crate::ui_state::{Prompt, PromptMode};

/// Opens the prompt for a command.
#[derive(Debug)]
pub(crate) struct CommandPrompt;

impl Action for CommandPrompt {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        state.ui.prompt = Some(Prompt::new(PromptMode::Command, ""));
        Vec::new()
    }
}

/// Opens the prompt for the filter of the list.
#[derive(Debug)]
pub(crate) struct FilterPrompt;

impl Action for FilterPrompt {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::list(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let text = state.ui.list().filter.as_ref().map(|f| f.text.clone());
        state.ui.prompt = Some(Prompt::new(PromptMode::Filter, text.unwrap_or_default()));
        Vec::new()
    }
}
