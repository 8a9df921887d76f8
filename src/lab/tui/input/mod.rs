//! Keys.

mod input_key;
mod key;

pub(crate) use input_key::InputKey;
pub use key::Key;
