//! Programs in CEL, the values they work on and their errors.

pub(crate) mod activation;
pub(crate) mod error;
pub(crate) mod program;
pub(crate) mod value;
