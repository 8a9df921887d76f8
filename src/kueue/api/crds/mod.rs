//! The CustomResourceDefinitions of every kind of the lab.
//!
//! Schemas are generated from the types of this crate (see `generate`, which is compiled for tests
//! only) and embedded as text. Names, columns and versions are a static table; a schema is expanded
//! on request.

mod crd;
mod definitions;
mod expand_refs;
#[cfg(test)]
mod generate;
mod schema;

pub use crd::{Conversion, Crd, CrdVersion, PrinterColumn};
pub use definitions::{CRDS, all_yaml, by_kind};
pub use schema::{Schema, SchemaType};

#[cfg(test)]
mod tests;
