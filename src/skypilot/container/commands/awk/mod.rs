//! `awk`: the POSIX language without user-defined functions, `getline`, pipes, files as output,
//! `system` and random numbers.

mod command;
mod expression_parser;
mod format;
mod functions;
mod interpreter;
mod parser;
mod program;
mod statements;
mod syntax_error;
mod token;
mod value;

#[cfg(test)]
mod tests;

pub(super) use command::awk;
