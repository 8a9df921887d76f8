//! Built-in Kubernetes kinds: discovery data, and the REST strategy of each kind with defaulting,
//! validation, table columns and selectable fields.
//!
//! Works on objects only; must not depend on storage, HTTP or watch.

mod apps;
pub mod batch;
pub mod builtin_resources;
mod builtin_strategy;
mod changed_fields;
mod config_map;
pub mod conversion;
mod limit_range;
mod namespace;
mod node;
pub mod other_api_groups;
pub mod pod;
mod printers;
mod resource_quota;
mod secret;
pub mod service;
mod strategies;

pub use builtin_resources::builtin_api_resources;
