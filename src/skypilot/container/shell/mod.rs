//! The shell: executes syntax trees.

mod arrays;
mod builtins;
mod compound;
mod execution;
mod expansion;
mod fields;
mod glob;
mod interactive;
mod pattern;
mod process;
mod redirection;
mod state;
mod test_expression;

pub(crate) use pattern::matches as pattern_matches;
pub use process::MAX_COMMANDS;
pub(crate) use process::Process;
pub use state::SHELL_NAMES;
pub(crate) use state::Shell;
pub(crate) use test_expression::evaluate as test_expression;
