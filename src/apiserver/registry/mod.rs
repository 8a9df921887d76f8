//! Which kinds are served right now, under which paths, and where their objects are stored.
//!
//! Readers get the whole table at once and keep it as long as they like; a change swaps the table.
//! Must not know HTTP.

mod crd_spec;
pub mod object_reader;
mod resource_registry;
mod resource_table;
mod served_resource;
pub(crate) mod stored_objects;

pub use crd_spec::{CrdNames, CrdSpec, CrdSpecVersion, SchemaSource};
pub use resource_table::{ResourceTable, ServedGroup, ServedVersion};
pub use served_resource::{CustomResourceInfo, ServedResource};

pub use resource_registry::Registry;
