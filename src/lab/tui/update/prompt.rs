//! Editing of filters, searches and commands.

use crossterm::event::KeyCode;
use tui_input::InputRequest;

use crate::input::{InputKey, Key};
use crate::keymap::{self, Target};
use crate::msg::Cmd;
use crate::state::{Filter, PageSearch, Prompt, PromptMode, Severity, State};

use super::command;

/// Handles a key while the prompt is open.
pub(super) fn handle_key(state: &mut State, key: Key) -> Vec<Cmd> {
    let input = match keymap::lookup(&keymap::scopes(state), key) {
        Some(Target::Input(input)) => Some(input),
        Some(Target::Action(_)) | None => None,
    };
    let Some(mut prompt) = state.ui.prompt.take() else {
        return Vec::new();
    };
    match input {
        Some(InputKey::Accept) => return accept(state, &prompt),
        Some(InputKey::Cancel) => {
            match prompt.kind {
                PromptMode::Filter => {
                    state.ui.list_mut().filter = Filter::parse(&prompt.initial).ok().flatten();
                }
                PromptMode::Search => search(state, &prompt.initial),
                PromptMode::Command => {}
            }
            return Vec::new();
        }
        Some(InputKey::NextField | InputKey::PreviousField) => {
            if prompt.kind == PromptMode::Command {
                if prompt.completion_index.is_none() {
                    prompt.completions = command::completions(state, prompt.text());
                }
                prompt.complete(input == Some(InputKey::NextField));
            }
        }
        Some(InputKey::Up | InputKey::Down) if prompt.kind == PromptMode::Command => {
            recall(state, &mut prompt, input == Some(InputKey::Up));
        }
        _ if key == Key::plain(KeyCode::Backspace) && prompt.text().is_empty() => {
            return Vec::new();
        }
        _ => {
            if let Some(request) = edit_request(key) {
                prompt.edit(request);
            }
        }
    }
    update_prompt(state, prompt);
    Vec::new()
}

/// The edit that a key requests.
fn edit_request(key: Key) -> Option<InputRequest> {
    let modified = key.ctrl || key.alt;
    Some(match key.code {
        KeyCode::Left if modified => InputRequest::GoToPrevWord,
        KeyCode::Left => InputRequest::GoToPrevChar,
        KeyCode::Right if modified => InputRequest::GoToNextWord,
        KeyCode::Right => InputRequest::GoToNextChar,
        KeyCode::Home => InputRequest::GoToStart,
        KeyCode::End => InputRequest::GoToEnd,
        KeyCode::Backspace if modified => InputRequest::DeletePrevWord,
        KeyCode::Backspace => InputRequest::DeletePrevChar,
        KeyCode::Delete => InputRequest::DeleteNextChar,
        KeyCode::Char('a') if key.ctrl => InputRequest::GoToStart,
        KeyCode::Char('e') if key.ctrl => InputRequest::GoToEnd,
        KeyCode::Char('h') if key.ctrl => InputRequest::DeletePrevChar,
        KeyCode::Char('w') if key.ctrl => InputRequest::DeletePrevWord,
        KeyCode::Char('u') if key.ctrl => InputRequest::DeleteFromStart,
        KeyCode::Char('k') if key.ctrl => InputRequest::DeleteTillEnd,
        _ => InputRequest::InsertChar(key.character()?),
    })
}

/// Inserts pasted text into the prompt. Without a prompt a paste is ignored, so that it cannot run
/// actions.
pub(super) fn paste(state: &mut State, text: &str) {
    if let Some(mut prompt) = state.ui.prompt.take() {
        for c in text.chars() {
            prompt.edit(InputRequest::InsertChar(c));
        }
        update_prompt(state, prompt);
    }
}

/// Applies the filter while it is typed; completes the command.
fn update_prompt(state: &mut State, mut prompt: Prompt) {
    match prompt.kind {
        PromptMode::Filter => {
            if let Ok(filter) = Filter::parse(prompt.text()) {
                state.ui.list_mut().filter = filter;
            }
        }
        PromptMode::Search => search(state, prompt.text()),
        PromptMode::Command if prompt.completion_index.is_none() => {
            prompt.completions = command::completions(state, prompt.text());
        }
        PromptMode::Command => {}
    }
    state.ui.prompt = Some(prompt);
}

fn accept(state: &mut State, prompt: &Prompt) -> Vec<Cmd> {
    match prompt.kind {
        PromptMode::Filter => match Filter::parse(prompt.text()) {
            Ok(filter) => state.ui.list_mut().filter = filter,
            Err(error) => state.notify(Severity::Error, error.to_string()),
        },
        PromptMode::Search => {
            search(state, prompt.text());
            let text = prompt.text();
            let page = state.ui.page.as_ref();
            if !text.is_empty() && page.is_some_and(|p| p.matching_lines().next().is_none()) {
                state.notify(Severity::Info, format!("{text:?} is not on this page"));
            }
        }
        PromptMode::Command => {
            let text = prompt.text().trim().to_owned();
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

/// Searches the page, from the window down.
fn search(state: &mut State, text: &str) {
    if let Some(page) = &mut state.ui.page {
        page.search = PageSearch::parse(text);
        page.scroll_to_match(true);
    }
}

/// Recalls an older or newer command from the history.
fn recall(state: &State, prompt: &mut Prompt, older: bool) {
    let typed = &state.ui.command_history;
    prompt.history_index = if older {
        (prompt.history_index + 1).min(typed.len())
    } else {
        prompt.history_index.saturating_sub(1)
    };
    prompt.completion_index = None;
    prompt.set_text(match prompt.history_index {
        0 => String::new(),
        back => typed.get(typed.len() - back).cloned().unwrap_or_default(),
    });
}
