//! [`ObjectReader`] over the table of served resources.

use std::sync::Arc;

use kueue_lab_host::HostAddresses;
use kueue_lab_resource_quota::{Evaluator, ObjectUsage};
use serde_json::Value;

use super::Registry;
use super::object_reader::ObjectReader;
use super::service_allocations::ServiceAllocations;
use crate::request::ResourcePath;
use crate::storage::key::storage_key;
use crate::storage::{Object, ResourceStorage, Snapshot, Store};

/// The stored objects of a server, each in its storage version.
pub(crate) struct StoredObjects<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) store: &'a Store,
    pub(crate) host_addresses: &'a HostAddresses,
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

    /// All objects of a resource; `None` without any.
    pub(super) fn snapshot(&self, group: &str, resource: &str) -> Option<Snapshot> {
        let storage = self.storage(group, resource)?;
        (!storage.is_empty()).then(|| self.store.snapshot(&storage))
    }

    /// A value of each object of a namespace, by name.
    fn map<T>(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        value: impl Fn(&Arc<Object>) -> T,
    ) -> Vec<T> {
        let Some(snapshot) = self.snapshot(group, resource) else {
            return Vec::new();
        };
        let prefix = if namespace.is_empty() {
            String::new()
        } else {
            storage_key(namespace, "")
        };
        snapshot.scan(&prefix, None).map(value).collect()
    }

    /// Whether the collection at a path has more than a number of objects or of bytes. It is true for
    /// kinds that are not stored here, and it reads not more objects than these.
    pub(crate) fn is_larger(&self, path: &ResourcePath, (objects, bytes): (usize, usize)) -> bool {
        let Some(storage) = self.storage(&path.group, &path.resource) else {
            return true;
        };
        let prefix = match path.namespace.as_str() {
            "" => String::new(),
            namespace => storage_key(namespace, ""),
        };
        let snapshot = self.store.snapshot(&storage);
        let (mut count, mut size) = (0, 0);
        snapshot.scan(&prefix, None).any(|object| {
            count += 1;
            size += object.size();
            count > objects || size > bytes
        })
    }

    /// The encoded size of the object at a path, in bytes; 0 if there is none.
    pub(crate) fn size(&self, path: &ResourcePath) -> usize {
        let namespace = match path.resource.as_str() {
            "namespaces" => "",
            _ => &path.namespace,
        };
        let storage = self.storage(&path.group, &path.resource);
        let object = storage.and_then(|all| all.get(&storage_key(namespace, &path.name)));
        object.map_or(0, |object| object.size())
    }
}

impl ObjectReader for StoredObjects<'_> {
    fn host_addresses(&self) -> HostAddresses {
        self.host_addresses.clone()
    }

    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let storage = self.storage(group, resource)?;
        Some(storage.get(&storage_key(namespace, name))?.value())
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        self.map(group, resource, namespace, Object::value)
    }

    fn quota_usages(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<ObjectUsage>> {
        let evaluator = Evaluator::of(group, resource);
        if !evaluator.reads_content() {
            // Of each object the same.
            let usage = Arc::new(evaluator.usage(&Value::Null));
            return self.map(group, resource, namespace, |_| usage.clone());
        }
        self.map(group, resource, namespace, |object| {
            object.derived(|value| evaluator.usage(value))
        })
    }

    fn service_allocations(&self) -> Vec<Arc<ServiceAllocations>> {
        self.map("", "services", "", |object| {
            object.derived(ServiceAllocations::of)
        })
    }
}
