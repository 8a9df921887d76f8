//! CEL programs, values and errors.

pub(crate) mod activation;
pub(crate) mod authorizer;
pub(crate) mod cost;
pub(crate) mod error;
pub(crate) mod object_types;
pub(crate) mod program;
pub(crate) mod value;

#[cfg(test)]
mod tests;
