//! The kinds every Kubernetes API server has: their names for discovery, and what is particular to
//! each: defaults, validation, table columns, field selectors.
//!
//! Works on objects only; must not know storage, HTTP or watch.

mod apps;
pub mod batch;
pub mod builtin_resources;
mod builtin_strategy;
mod config_map;
mod go_struct_format;
mod limit_range;
mod namespace;
mod node;
mod other_api_groups;
pub mod pod;
mod resource_quota;
mod secret;
pub mod service;
mod strategies;
mod unified_diff;

pub use builtin_resources::builtin_api_resources;
pub use builtin_strategy::{BuiltinStrategy, SelectableField, SelectableFields};
