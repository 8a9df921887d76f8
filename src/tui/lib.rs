//! The terminal UI: model, update, views. Draws what it watches through a `kube::Client` and owns
//! no truth, so it works on any cluster, whoever runs Kueue there.
//!
//! [`run_command`] takes over the terminal. Watches ([`mod@watch`]) turn objects into rows and send them as
//! news; [`update`](mod@update) takes in news, keys and results and gives back what is wished for;
//! [`open_view`] draws the state. Both are pure functions of the state, and tested as such. Whatever
//! lies beyond the cluster (presets, demos, speed) it reaches through [`operations::Actions`].
//!
//! Must not know how a lab works inside, nor decide anything about admission.

mod cluster_operations;
mod config;
mod describe;
mod fetch;
pub mod glyphs;
pub mod keymap;
pub mod model;
pub mod msg;
pub mod operations;
mod run;
mod screen;
pub mod screen_dump;
pub mod state;
pub mod text;
pub mod theme;
pub mod ui_state;
pub mod update;
pub mod view;
pub mod watch;

pub use cluster_operations::ClusterOperations;
pub use config::{Colours, Exit, TuiConfig, TuiError};
pub use run::{capture, run};
pub use screen_dump::render_once;

#[cfg(test)]
mod tests;
