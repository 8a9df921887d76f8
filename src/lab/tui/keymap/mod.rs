//! The tables of key bindings and commands. Dispatch, footer and help read the same tables.

mod binding;
mod bindings;
mod commands;
mod scope;

pub(crate) use binding::Target;
pub(crate) use commands::{Command, commands};
pub(crate) use scope::{Scope, hints, lookup, scopes};
