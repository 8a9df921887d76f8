//! The terminal UI. It reads everything from watches of a `kube::Client` and keeps no state of its own
//! in the cluster, so it works on any cluster with Kueue.
//!
//! [`run()`] takes over the terminal. Watches ([`mod@watch`]) turn objects into rows and send them as
//! messages; [`update`](mod@update) handles messages and keys and returns commands; [`view`] draws
//! the state. Both are pure functions of the state. Presets, demos and other capabilities of a lab
//! come through [`backend`].
//!
//! A view is one file in `views/`, an action one file in `actions/`; key bindings and commands name
//! them in `keymap/`.

#![warn(unreachable_pub)]

mod actions;
pub mod backend;
mod config;
mod describe;
mod fetch;
mod glyphs;
pub mod input;
mod keymap;
pub mod model;
pub mod msg;
mod operation;
mod run;
mod screen;
pub mod screen_dump;
pub mod state;
mod text;
mod theme;
pub mod update;
pub mod view;
mod views;
mod watch;

pub use actions::{delete_object, submit_job};
pub use config::{Colours, Exit, TuiConfig, TuiError};
pub use run::{capture, run};
pub use screen_dump::render_once;
pub use state::SampleJob;

#[cfg(test)]
mod tests;
