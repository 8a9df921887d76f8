//! Opening the prompt.

use super::Action;
use crate::msg::Cmd;
use crate::state::{Prompt, PromptMode, State, UnavailableReason, requires};

/// Opens the prompt for a command.
#[derive(Debug)]
pub(crate) struct OpenCommandPrompt;

impl Action for OpenCommandPrompt {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        state.ui.prompt = Some(Prompt::new(PromptMode::Command, ""));
        Vec::new()
    }
}

/// Opens the prompt for a text to find in the page.
#[derive(Debug)]
pub(crate) struct OpenSearchPrompt;

impl Action for OpenSearchPrompt {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        if let Some(page) = &state.ui.page {
            let text = page.search.as_ref().map(|search| search.text.clone());
            state.ui.prompt = Some(Prompt::new(PromptMode::Search, text.unwrap_or_default()));
        }
        Vec::new()
    }
}

/// Opens the prompt for the filter of the list.
#[derive(Debug)]
pub(crate) struct OpenFilterPrompt;

impl Action for OpenFilterPrompt {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::list(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let text = state.ui.list().filter.as_ref().map(|f| f.text.clone());
        state.ui.prompt = Some(Prompt::new(PromptMode::Filter, text.unwrap_or_default()));
        Vec::new()
    }
}
