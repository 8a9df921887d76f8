//! CEL programs, values and errors.

pub(crate) mod activation;
pub(crate) mod cost;
pub(crate) mod error;
mod instrument;
pub(crate) mod object_types;
mod parse;
pub(crate) mod program;
pub(crate) mod value;
