//! Tests of the whole UI: screens of fixture clusters, keys, and properties for any cluster and size.

mod fixture;
mod keys;
mod laws;
mod properties;
mod screens;

use crossterm::event::KeyCode;

use super::input::Key;
use super::msg::{Cmd, Msg};
use super::state::State;
use super::update::update;

/// Presses keys in the syntax of the key map; other text is typed.
fn press(state: &mut State, keys: &[&str]) -> Vec<Cmd> {
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
