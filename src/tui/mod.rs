//! The terminal UI: model, update, views. Draws what it watches through a `kube::Client` and owns
//! no truth, so it works on any cluster, whoever runs Kueue there.
//!
//! [`update`](mod@update) takes in news, keys and results and gives back what is wished for;
//! [`view`] draws the state. Both are pure functions of the state, and tested as such. Whatever
//! lies beyond the cluster (presets, demos, speed) it reaches through [`actions::Actions`].
//!
//! Must not know how a lab works inside, nor decide anything about admission.

pub mod actions;
pub mod dump;
pub mod glyphs;
pub mod keymap;
pub mod model;
pub mod msg;
pub mod state;
pub mod text;
pub mod theme;
pub mod ui;
pub mod update;
pub mod view;

pub use dump::render_once;

#[cfg(test)]
mod tests;
