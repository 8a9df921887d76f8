//! The shell: executes syntax trees.

mod arrays;
mod builtins;
mod compound;
mod execution;
mod expansion;
mod fields;
mod glob;
mod interactive;
mod process;
mod redirection;
mod state;
mod test_files;

pub use process::MAX_COMMANDS;
pub(crate) use process::{DEPTH, Process, ProcessLimits};
pub use state::SHELL_NAMES;
pub(crate) use state::Shell;
