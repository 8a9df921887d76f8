//! Table of built-in resources: groups, versions, resource names, verbs and subresources, as in the
//! discovery documents of a v1.36 API server with the default API groups enabled.

mod api_resource_row;
mod builtin;
mod cluster_resources;
mod workload_resources;

pub use builtin::builtin_api_resources;
