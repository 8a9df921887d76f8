//! CEL programs, values and errors.

pub mod activation;
pub mod authorizer;
pub mod cost;
pub(crate) mod error;
pub mod object_types;
pub(crate) mod program;
pub mod value;

#[cfg(test)]
mod tests;
