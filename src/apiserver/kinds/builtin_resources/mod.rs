//! The table of built-in kinds: groups, versions, resource names, verbs, subresources, as discovery
//! of a v1.36 API server lists them with the default API groups enabled.

mod api_resource_row;
mod builtin;
mod cluster_resources;
mod workload_resources;

pub use builtin::builtin_api_resources;
