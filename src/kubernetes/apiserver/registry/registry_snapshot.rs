//! Snapshots of a registry: the custom resources of a server, for further servers.

use std::sync::Arc;

use super::crd_spec::CrdSpec;

/// The custom resources that a registry serves.
#[derive(Clone, Debug)]
pub struct RegistrySnapshot {
    pub(super) crds: Vec<CrdSnapshot>,
    pub(super) last_schema_generation: u64,
}

/// One served CustomResourceDefinition.
#[derive(Clone, Debug)]
pub(super) struct CrdSnapshot {
    pub(super) definition: Arc<CrdSpec>,
    pub(super) identity: String,
    pub(super) schema_generation: u64,
    pub(super) terminating: bool,
}
