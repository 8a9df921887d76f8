//! Changes of the state: messages in, changed state and commands out. Pure: no terminal, no cluster,
//! no clock.

mod command;
mod dialog;
mod dispatch;
mod keys;
pub(crate) mod navigation;
mod preset_changes;
mod prompt;
mod refresh;
mod update_state;

pub use refresh::refresh;
pub(crate) use update_state::notify;
pub use update_state::update;
