//! CEL programs, values and errors.

pub(crate) mod activation;
pub(crate) mod error;
pub(crate) mod program;
pub(crate) mod value;
