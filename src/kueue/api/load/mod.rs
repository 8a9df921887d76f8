//! Loads YAML documents of any kind; those of Kueue are checked against the schema of their
//! version, converted to v1beta2 and validated, with the position of every problem.
//!
//! Older versions and field names of other versions are converted with a warning.

mod field_aliases;
mod metadata_text;
mod object;
mod schema_validation;
mod structural_defaults;

pub use crate::problem::Problem;
pub use object::{LoadedObject, object, objects};
pub use structural_defaults::structural_defaults;

#[cfg(test)]
mod tests;
