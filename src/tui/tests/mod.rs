//! The UI as a whole: screens of made-up clusters, keys pressed on them, and laws that hold for any
//! cluster and any size.

mod fixture;
mod keys;
mod properties;
mod screens;

use crossterm::event::KeyCode;

use super::keymap::Key;
use super::msg::{Cmd, Msg};
use super::state::State;
use super::update::update;

/// Presses keys, written as in the key map, one after the other. What is no key is typed.
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
