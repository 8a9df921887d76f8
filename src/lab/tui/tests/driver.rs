//! Presses keys and draws screens.

use crossterm::event::KeyCode;

use crate::input::Key;
use crate::msg::{Cmd, Msg};
use crate::screen_dump::{render, text};
use crate::state::State;
use crate::update::update;

/// Presses keys in the syntax of the key map; other text is typed.
pub(super) fn press(state: &mut State, keys: &[&str]) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    for key in keys {
        match Key::parse(key) {
            Some(key) => cmds.extend(update(state, Msg::Key(key))),
            None => {
                for c in key.chars() {
                    cmds.extend(update(state, Msg::Key(Key::plain(KeyCode::Char(c)))));
                }
            }
        }
    }
    cmds
}

/// The screen of a state as plain text.
pub(super) fn render_text(state: &State, columns: u16, rows: u16) -> String {
    text(&render(state, columns, rows))
}
