//! [`ApiServerSnapshot`]: the state of an API server, from which further servers start.

use std::collections::BTreeSet;

use super::api_server::ApiServer;
use crate::registry::RegistrySnapshot;
use crate::storage::{EventTtl, StoreSnapshot};

/// The state of an API server in memory. Servers that start from it share its objects, which are
/// immutable.
#[derive(Debug)]
pub struct ApiServerSnapshot {
    pub(super) store: StoreSnapshot,
    pub(super) registry: RegistrySnapshot,
    pub(super) event_ttl: EventTtl,
    pub(super) replaceable_crds: BTreeSet<String>,
}

impl ApiServerSnapshot {
    /// The keys (`namespace/name` or `name`) of the objects of a resource (`group/plural` of the
    /// storage version).
    pub fn keys(&self, resource: &str) -> impl Iterator<Item = &str> {
        self.store.keys(resource)
    }
}

impl ApiServer {
    /// The current state; `None` of a server with durable storage, or with extension API servers in
    /// other processes.
    pub fn snapshot(&self) -> Option<ApiServerSnapshot> {
        let core = &self.core;
        if core.store.is_durable() || !core.remote_api_services.all().is_empty() {
            return None;
        }
        let (store, registry) = core.registry.snapshot();
        Some(ApiServerSnapshot {
            store,
            registry,
            event_ttl: core.event_ttl.copy(),
            replaceable_crds: core.replaceable_crds.lock().clone(),
        })
    }
}
