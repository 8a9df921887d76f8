//! Custom resources: their definitions, and what their schemas ask of them.
//!
//! Works on objects and schemas; must not know storage, HTTP or watch.

mod cel;
pub mod compile_schema;
mod custom_resource_strategy;
mod custom_resource_validation;
pub mod definition_validation;
mod embedded_resource;
mod formats;
pub mod jsonpath;
mod list_type;
pub mod printer_columns;

pub use custom_resource_strategy::{CrdVersion, CustomResourceStrategy};

#[cfg(test)]
mod tests;
