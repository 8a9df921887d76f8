//! The terminal UI: model, update, views. Draws what it watches through a `kube::Client` and owns
//! no truth, so it works on any cluster, whoever runs Kueue there.
//!
//! [`run`] takes over the terminal. Watches ([`mod@watch`]) turn objects into rows and send them as
//! news; [`update`](mod@update) takes in news, keys and results and gives back what is wished for;
//! [`view`] draws the state. Both are pure functions of the state, and tested as such. Whatever
//! lies beyond the cluster (presets, demos, speed) it reaches through [`actions::Actions`].
//!
//! Must not know how a lab works inside, nor decide anything about admission.

pub mod actions;
mod cluster_actions;
mod config;
mod describe;
pub mod dump;
mod fetch;
pub mod glyphs;
pub mod keymap;
pub mod model;
pub mod msg;
mod run;
mod screen;
pub mod state;
pub mod text;
pub mod theme;
pub mod ui;
pub mod update;
pub mod view;
pub mod watch;

pub use cluster_actions::ClusterActions;
pub use config::{Colours, Exit, TuiConfig, TuiError};
pub use dump::render_once;
pub use run::{capture, run};

#[cfg(test)]
mod tests;
