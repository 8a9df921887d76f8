//! The admission that is built into every API server: what it fills in, what it refuses.
//!
//! Plain functions over one write and the objects that are there. Runs around what is plugged in:
//! [`mutate`] before plug-ins change the object, [`validate`] after they have looked at it. Must not
//! know storage or requests as they come.

mod certificate_requester;
mod chain;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod limit_ranger;
mod namespace_lifecycle;
mod persistent_volume_claim_resize;
mod plugin_context;
mod priority;
pub mod resource_quota;
mod runtime_class;
mod service_account;
mod service_allocator;
mod taint_nodes_by_condition;

/// Objects for the tests of this room.
#[cfg(test)]
pub(crate) mod fake;

pub use chain::{mutate, validate};

pub use plugin_context::PluginContext;
