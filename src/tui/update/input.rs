//! Typing filters and commands.

use crossterm::event::KeyCode;

use crate::keymap::{self, Act, Key};
use crate::msg::Cmd;
use crate::state::State;
use crate::ui::{Filter, Prompt, PromptKind, Tone};

use super::{command, keys, say};

/// A key was pressed while a line is typed.
pub(super) fn press(state: &mut State, key: Key) -> Vec<Cmd> {
    let act = keymap::act(keys::scopes(state), key);
    let Some(mut prompt) = state.ui.prompt.take() else {
        return Vec::new();
    };
    match act {
        Some(Act::Enter) => return accept(state, &prompt),
        Some(Act::Back) => {
            if prompt.kind == PromptKind::Filter {
                state.ui.list_mut().filter = Filter::parse(&prompt.before).ok().flatten();
            }
            return Vec::new();
        }
        Some(Act::NextField | Act::PreviousField) => {
            if prompt.kind == PromptKind::Command {
                if prompt.taken.is_none() {
                    prompt.completions = command::completions(state, &prompt.text);
                }
                prompt.complete(act == Some(Act::NextField));
            }
        }
        Some(Act::Up | Act::Down) if prompt.kind == PromptKind::Command => {
            recall(state, &mut prompt, act == Some(Act::Up));
        }
        _ => match (key.code, key.ctrl) {
            (KeyCode::Backspace, false) if prompt.text.is_empty() => return Vec::new(),
            (KeyCode::Backspace, false) | (KeyCode::Char('h'), true) => prompt.pop(),
            (KeyCode::Backspace | KeyCode::Char('w'), true) => prompt.pop_word(),
            (KeyCode::Char('u'), true) => prompt.text.clear(),
            _ => {
                if let Some(c) = key.typed() {
                    prompt.push(c);
                }
            }
        },
    }
    after(state, prompt);
    Vec::new()
}

/// Text was pasted: it is typed where a line is typed, and ignored elsewhere, so that a paste can
/// not press keys.
pub(super) fn paste(state: &mut State, text: &str) {
    if let Some(mut prompt) = state.ui.prompt.take() {
        for c in text.chars() {
            prompt.push(c);
        }
        after(state, prompt);
    }
}

/// Applies a filter as far as it is typed, and finds completions of a command.
fn after(state: &mut State, mut prompt: Prompt) {
    match prompt.kind {
        PromptKind::Filter => {
            if let Ok(filter) = Filter::parse(&prompt.text) {
                state.ui.list_mut().filter = filter;
            }
        }
        PromptKind::Command if prompt.taken.is_none() => {
            prompt.completions = command::completions(state, &prompt.text);
        }
        PromptKind::Command => {}
    }
    state.ui.prompt = Some(prompt);
}

fn accept(state: &mut State, prompt: &Prompt) -> Vec<Cmd> {
    match prompt.kind {
        PromptKind::Filter => match Filter::parse(&prompt.text) {
            Ok(filter) => state.ui.list_mut().filter = filter,
            Err(error) => say(state, Tone::Error, error.to_string()),
        },
        PromptKind::Command => {
            let text = prompt.text.trim().to_owned();
            if text.is_empty() {
                return Vec::new();
            }
            if state.ui.typed.last() != Some(&text) {
                state.ui.typed.push(text.clone());
                if state.ui.typed.len() > 100 {
                    state.ui.typed.remove(0);
                }
            }
            return command::run(state, &text);
        }
    }
    Vec::new()
}

/// Puts in what was typed before or after.
fn recall(state: &State, prompt: &mut Prompt, older: bool) {
    let typed = &state.ui.typed;
    prompt.back = if older {
        (prompt.back + 1).min(typed.len())
    } else {
        prompt.back.saturating_sub(1)
    };
    prompt.taken = None;
    prompt.text = match prompt.back {
        0 => String::new(),
        back => typed.get(typed.len() - back).cloned().unwrap_or_default(),
    };
}
