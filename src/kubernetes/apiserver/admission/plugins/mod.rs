//! Built-in admission plugins.
//!
//! Functions over one write and the stored objects: [`mutate`] runs before in-process plugins and
//! webhooks, [`validate`] after them. Does not depend on storage or HTTP.

mod certificate_approval;
mod certificate_requester;
mod certificate_signing;
mod certificate_subject_restriction;
mod chain;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod endpoint_addresses;
mod limit_ranger;
mod namespace_lifecycle;
mod persistent_volume_claim_resize;
mod plugin_context;
mod pod_security;
mod priority;
pub(crate) mod resource_quota;
mod runtime_class;
mod service_account;
pub(crate) mod service_allocator;
mod signer_authorization;
mod taint_nodes_by_condition;

/// Fakes for the tests of plugins.
#[cfg(test)]
pub(crate) mod fake;

pub(crate) use chain::{mutate, validate};

pub(crate) use plugin_context::PluginContext;
