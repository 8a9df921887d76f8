//! Changes of the state: messages in, changed state and commands out. Pure: no terminal, no cluster,
//! no clock.

mod candidates;
mod command;
mod dialog;
mod dispatch;
mod keys;
mod preset_changes;
mod prompt;
mod refresh;
mod update_state;

#[cfg(test)]
pub(crate) use candidates::LoadCandidates;
pub use refresh::refresh;
pub use update_state::update;
