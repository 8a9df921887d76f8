//! The grammar of the shell ([`syntax`]), arithmetic and brace expansion, which containers use too.
//!
//! Derives the steps of commands: output, waits and exit codes, without running them. Interprets the
//! shell features that job examples use; every other command succeeds at once.

mod arithmetic;
mod budget;
mod builtins;
mod command;
mod compound;
mod expansion;
mod interpreter;
pub mod parameter_operation;
pub mod pattern;
pub mod printf;
mod python;
pub mod syntax;
pub mod test_expression;
mod test_files;

pub use arithmetic::{Variables, arithmetic};
pub use budget::ScriptLimits;
pub use command::{steps, steps_within};
pub use expansion::seq;
pub use interpreter::Environment;
pub use test_files::IMAGE_DIRECTORIES;

#[cfg(test)]
mod tests;
