//! CustomResourceDefinitions of the kinds of job operators: their names, columns, subresources and
//! defaults, and schemas that leave pod templates open.

mod definitions;
mod schema_text;

#[cfg(test)]
mod tests;

pub use definitions::{definition, definitions, schema};
