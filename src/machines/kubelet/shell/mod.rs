//! Derives steps from container commands: output, sleeps and exit codes. Interprets the shell
//! features that job examples use; every other command succeeds at once.

mod arithmetic;
mod command;
mod duration;
mod environment;
mod expansion;
mod interpreter;
mod lexer;
mod python;

pub(super) use command::steps;
pub(super) use duration::duration;
pub(super) use environment::{Environment, environment};

#[cfg(test)]
mod tests;
