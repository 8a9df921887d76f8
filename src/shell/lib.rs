//! Derives the steps of commands: output, waits and exit codes, without running them. Interprets the
//! shell features that job examples use; every other command succeeds at once.

mod arithmetic;
mod command;
mod duration;
mod expansion;
mod interpreter;
mod lexer;
mod program;
mod python;

pub use arithmetic::{Variables, arithmetic};
pub use command::steps;
pub use duration::duration;
pub use expansion::{brace_sequence, seq};
pub use interpreter::Environment;
pub use program::{DEFAULT_DURATION, Program, ProgramEvent, ProgramEvents, Step};

#[cfg(test)]
mod tests;
