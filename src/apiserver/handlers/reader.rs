//! The objects that are there, for the admission that is built in.

use std::sync::Arc;

use serde_json::Value;

use super::call;
use crate::policy::Reader;
use crate::server::Core;
use crate::store::Space;

/// What a server has stored.
pub(super) struct Stored<'a>(pub(super) &'a Core);

impl Stored<'_> {
    fn space(&self, group: &str, resource: &str) -> Option<Arc<Space>> {
        let table = self.0.registry.table();
        let mut versions = table.group(group)?.versions.iter();
        versions.find_map(|version| {
            let served = table.find(group, &version.name, resource)?;
            served.space.clone()
        })
    }
}

impl Reader for Stored<'_> {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let space = self.space(group, resource)?;
        Some(space.get(&call::key(namespace, name))?.value())
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let Some(space) = self.space(group, resource) else {
            return Vec::new();
        };
        if space.is_empty() {
            return Vec::new();
        }
        let prefix = if namespace.is_empty() {
            String::new()
        } else {
            call::key(namespace, "")
        };
        let snapshot = self.0.store.snapshot(&space);
        snapshot.scan(&prefix, None).map(|o| o.value()).collect()
    }
}
