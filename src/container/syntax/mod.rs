//! The grammar of the shell: scripts to syntax trees.

mod ast;
mod parser;
mod word;

pub(crate) use ast::{
    AndOr, AssignedValue, Assignment, Command, Compound, Connector, Index, List, Operation, Part,
    Pipeline, Redirect, RedirectKind, SimpleCommand, Word,
};
pub(crate) use parser::{Dialect, ParseError, parse};
