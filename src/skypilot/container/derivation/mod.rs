//! Derives the program of a container from its command: the shell executes the command in a container of its own in
//! virtual time, and the output, the waits and the exit code are recorded as steps.

mod command;
mod executor;
mod image_program;
mod script_limits;
#[cfg(test)]
mod tests;
mod timeline;
mod virtual_system;

pub use command::{Environment, steps, steps_within};
pub use script_limits::ScriptLimits;
use timeline::Timeline;
