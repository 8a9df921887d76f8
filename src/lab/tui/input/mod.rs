//! Keys, and bindings of keys to the identifiers of actions.

mod binding;
mod key;

pub(crate) use binding::{Binding, InputKey, Target, input, key};
pub use key::Key;
