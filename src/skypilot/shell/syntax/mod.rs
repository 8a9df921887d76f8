//! The grammar of the shell: scripts to syntax trees.

mod ast;
mod braces;
mod compound_commands;
mod parser;
mod redirections;
mod simple_command;
mod word;

pub use ast::{
    AndOr, AssignedValue, Assignment, CaseArm, Command, Compound, Connector, Index, List,
    Operation, Part, Pipeline, Redirect, RedirectKind, SimpleCommand, Word,
};
pub use braces::{BRACE_LETTERS, expand_braces};
pub use parser::{Dialect, ParseError, parse, parse_leniently};

#[cfg(test)]
mod tests;
