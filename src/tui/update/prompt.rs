//! Typing filters and commands.

use crossterm::event::KeyCode;

use crate::keymap::{self, ActionId, Key};
use crate::msg::Cmd;
use crate::state::State;
use crate::ui_state::{Filter, Prompt, PromptMode, Severity};

use super::{command, keys, notify};

/// A key was pressed while a line is typed.
pub(super) fn handle_key(state: &mut State, key: Key) -> Vec<Cmd> {
    let act = keymap::lookup(keys::scopes(state), key);
    let Some(mut prompt) = state.ui.prompt.take() else {
        return Vec::new();
    };
    match act {
        Some(ActionId::Enter) => return accept(state, &prompt),
        Some(ActionId::Back) => {
            if prompt.kind == PromptMode::Filter {
                state.ui.list_mut().filter = Filter::parse(&prompt.initial).ok().flatten();
            }
            return Vec::new();
        }
        Some(ActionId::NextField | ActionId::PreviousField) => {
            if prompt.kind == PromptMode::Command {
                if prompt.completion_index.is_none() {
                    prompt.completions = command::completions(state, &prompt.text);
                }
                prompt.complete(act == Some(ActionId::NextField));
            }
        }
        Some(ActionId::Up | ActionId::Down) if prompt.kind == PromptMode::Command => {
            recall(state, &mut prompt, act == Some(ActionId::Up));
        }
        _ => match (key.code, key.ctrl) {
            (KeyCode::Backspace, false) if prompt.text.is_empty() => return Vec::new(),
            (KeyCode::Backspace, false) | (KeyCode::Char('h'), true) => prompt.pop(),
            (KeyCode::Backspace | KeyCode::Char('w'), true) => prompt.pop_word(),
            (KeyCode::Char('u'), true) => prompt.text.clear(),
            _ => {
                if let Some(c) = key.character() {
                    prompt.push(c);
                }
            }
        },
    }
    update_prompt(state, prompt);
    Vec::new()
}

/// Text was pasted: it is typed where a line is typed, and ignored elsewhere, so that a paste can
/// not press keys.
pub(super) fn paste(state: &mut State, text: &str) {
    if let Some(mut prompt) = state.ui.prompt.take() {
        for c in text.chars() {
            prompt.push(c);
        }
        update_prompt(state, prompt);
    }
}

/// Applies a filter as far as it is typed, and finds completions of a command.
fn update_prompt(state: &mut State, mut prompt: Prompt) {
    match prompt.kind {
        PromptMode::Filter => {
            if let Ok(filter) = Filter::parse(&prompt.text) {
                state.ui.list_mut().filter = filter;
            }
        }
        PromptMode::Command if prompt.completion_index.is_none() => {
            prompt.completions = command::completions(state, &prompt.text);
        }
        PromptMode::Command => {}
    }
    state.ui.prompt = Some(prompt);
}

fn accept(state: &mut State, prompt: &Prompt) -> Vec<Cmd> {
    match prompt.kind {
        PromptMode::Filter => match Filter::parse(&prompt.text) {
            Ok(filter) => state.ui.list_mut().filter = filter,
            Err(error) => notify(state, Severity::Error, error.to_string()),
        },
        PromptMode::Command => {
            let text = prompt.text.trim().to_owned();
            if text.is_empty() {
                return Vec::new();
            }
            if state.ui.command_history.last() != Some(&text) {
                state.ui.command_history.push(text.clone());
                if state.ui.command_history.len() > 100 {
                    state.ui.command_history.remove(0);
                }
            }
            return command::run_command(state, &text);
        }
    }
    Vec::new()
}

/// Puts in what was typed before or after.
fn recall(state: &State, prompt: &mut Prompt, older: bool) {
    let typed = &state.ui.command_history;
    prompt.history_index = if older {
        (prompt.history_index + 1).min(typed.len())
    } else {
        prompt.history_index.saturating_sub(1)
    };
    prompt.completion_index = None;
    prompt.text = match prompt.history_index {
        0 => String::new(),
        back => typed.get(typed.len() - back).cloned().unwrap_or_default(),
    };
}
