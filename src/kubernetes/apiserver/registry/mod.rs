//! The registry of served resources and their storage.
//!
//! Readers load an immutable table; each change replaces the table. Does not depend on HTTP.

mod crd_spec;
pub(crate) mod object_reader;
mod registry_snapshot;
mod resource_registry;
mod resource_table;
mod served_resource;
pub(crate) mod service_allocations;
pub(crate) mod stored_objects;
pub(crate) mod webhook_manager;

pub use crd_spec::{CrdNames, CrdSpec, CrdSpecVersion};
pub use kueue_lab_apiextensions::crd::schema_source::SchemaSource;
pub use registry_snapshot::RegistrySnapshot;
pub(crate) use resource_table::EncodedDocument;
pub use resource_table::{ResourceTable, ServedGroup, ServedVersion};
pub use served_resource::{CustomResourceInfo, ServedResource};

pub use resource_registry::Registry;
