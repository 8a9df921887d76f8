//! The terminal UI. It reads everything from watches of a `kube::Client` and keeps no state of its own
//! in the cluster, so it works on any cluster with Kueue.
//!
//! The design is The Elm Architecture: [`run()`] takes over the terminal. Watches ([`mod@watch`])
//! turn objects into rows and send them as messages; [`update`](mod@update) handles messages and
//! keys and returns commands; [`screen`] draws the state. Both are pure functions of the state.
//! Presets, demos and other capabilities of a lab come through [`backend`].
//!
//! The modules are layers; each uses only those before it:
//!
//! 1. `text`, `theme`, `glyphs`: text and its style;
//! 2. [`model`]: the watched objects; [`backend`]: the capabilities of a lab;
//! 3. [`state`]: the state of the UI, with the identifiers of views and rows;
//! 4. [`input`]: keys; [`msg`]: messages and commands; `widgets`: what screens consist of;
//! 5. `views`: each view is one file;
//! 6. `actions`: each action is one file;
//! 7. `keymap`: the tables of key bindings and commands, with their actions;
//! 8. [`screen`]: the whole screen;
//! 9. [`update`](mod@update): handles messages;
//! 10. `run`: the event loop.

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
pub mod screen;
pub mod screen_dump;
pub mod state;
mod terminal;
mod text;
mod theme;
pub mod update;
mod views;
mod watch;
mod widgets;

pub use actions::{cancel_managed_job, delete_object, submit_job};
pub use config::{Colours, Exit, TuiConfig, TuiError};
pub use model::ObjectRef;
pub use run::{capture, run};
pub use state::SampleJob;
pub use terminal::restore_terminal;

#[cfg(test)]
mod tests;
