//! CEL programs, values and errors.

pub(crate) mod activation;
pub(crate) mod authorizer;
mod call_cost;
pub(crate) mod cost;
pub(crate) mod error;
mod instrument;
pub(crate) mod object_types;
mod parse;
pub(crate) mod program;
mod size_charge;
pub(crate) mod value;

#[cfg(test)]
mod tests;
