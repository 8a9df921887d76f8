//! Built-in Kubernetes kinds: discovery data, and the REST strategy of each kind with defaulting,
//! validation, table columns and selectable fields.
//!
//! Works on objects only; must not depend on storage, HTTP or watch.

mod apps;
pub(crate) mod batch;
pub(crate) mod builtin_resources;
mod builtin_strategy;
mod config_map;
mod go_struct_format;
mod limit_range;
mod namespace;
mod node;
pub(crate) mod other_api_groups;
pub(crate) mod pod;
mod resource_quota;
mod secret;
pub(crate) mod service;
mod strategies;
mod unified_diff;

pub(crate) use builtin_resources::builtin_api_resources;
