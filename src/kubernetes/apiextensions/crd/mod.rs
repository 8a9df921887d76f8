//! Custom resources: CustomResourceDefinitions, schema validation, and the strategy of custom
//! resources, as `k8s.io/apiextensions-apiserver`.
//!
//! Works on objects and schemas; must not depend on storage, HTTP or watch.

mod cel;
pub(crate) mod compile_schema;
mod custom_resource_strategy;
mod custom_resource_validation;
pub mod definition_validation;
mod embedded_resource;
mod formats;
pub(crate) mod jsonpath;
mod list_type;
pub mod printer_columns;
pub mod schema_source;
mod walk;

pub use custom_resource_strategy::{CrdVersion, CustomResourceStrategy};

#[cfg(test)]
mod tests;
