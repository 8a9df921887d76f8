//! The key map and the commands. Dispatch, footer and help read the same tables.

mod binding;
mod bindings;
mod commands;
mod key;
mod scope;

pub(crate) use binding::{Binding, InputKey, Target, key};
pub(crate) use commands::commands;
pub use key::Key;
pub(crate) use scope::{Scope, hints, lookup, scopes};
