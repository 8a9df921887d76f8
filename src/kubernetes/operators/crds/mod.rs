//! CustomResourceDefinitions of the kinds of job operators: their names, columns, subresources and
//! defaults, and schemas that leave pod templates open, except for their defaults: those of Workloads must
//! be the same, or Kueue would take a job for changed.

mod definitions;
mod schema_text;

#[cfg(test)]
mod tests;

pub use definitions::{definition, definitions, schema};
