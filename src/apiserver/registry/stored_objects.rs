//! [`ObjectReader`] over the table of served resources.

use std::sync::Arc;

use serde_json::Value;

use super::Registry;
use super::object_reader::ObjectReader;
use crate::storage::key::storage_key;
use crate::storage::{ResourceStorage, Store};

/// The stored objects of a server, each in its storage version.
pub(crate) struct StoredObjects<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) store: &'a Store,
}

impl StoredObjects<'_> {
    fn storage(&self, group: &str, resource: &str) -> Option<Arc<ResourceStorage>> {
        let table = self.registry.table();
        let mut versions = table.group(group)?.versions.iter();
        versions.find_map(|version| {
            let served = table.find(group, &version.name, resource)?;
            served.storage.clone()
        })
    }
}

impl ObjectReader for StoredObjects<'_> {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let storage = self.storage(group, resource)?;
        Some(storage.get(&storage_key(namespace, name))?.value())
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let Some(storage) = self.storage(group, resource) else {
            return Vec::new();
        };
        if storage.is_empty() {
            return Vec::new();
        }
        let prefix = if namespace.is_empty() {
            String::new()
        } else {
            storage_key(namespace, "")
        };
        let snapshot = self.store.snapshot(&storage);
        snapshot.scan(&prefix, None).map(|o| o.value()).collect()
    }
}
