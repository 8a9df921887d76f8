//! The objects that are there, for the admission that is built in.

use std::sync::Arc;

use serde_json::Value;

use super::request_context;
use crate::admission_plugins::Reader;
use crate::server::ServerState;
use crate::storage::ResourceStorage;

/// What a server has stored.
pub(super) struct StoredObjects<'a>(pub(super) &'a ServerState);

impl StoredObjects<'_> {
    fn storage(&self, group: &str, resource: &str) -> Option<Arc<ResourceStorage>> {
        let table = self.0.registry.table();
        let mut versions = table.group(group)?.versions.iter();
        versions.find_map(|version| {
            let served = table.find(group, &version.name, resource)?;
            served.storage.clone()
        })
    }
}

impl Reader for StoredObjects<'_> {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let space = self.storage(group, resource)?;
        Some(
            space
                .get(&request_context::storage_key(namespace, name))?
                .value(),
        )
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let Some(space) = self.storage(group, resource) else {
            return Vec::new();
        };
        if space.is_empty() {
            return Vec::new();
        }
        let prefix = if namespace.is_empty() {
            String::new()
        } else {
            request_context::storage_key(namespace, "")
        };
        let snapshot = self.0.store.snapshot(&space);
        snapshot.scan(&prefix, None).map(|o| o.value()).collect()
    }
}
