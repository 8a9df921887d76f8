//! Read access to stored objects.

use std::sync::Arc;

use kueue_lab_host::HostAddresses;
use kueue_lab_resource_quota::{Evaluator, ObjectUsage};
use serde_json::Value;

use super::service_allocations::ServiceAllocations;

/// Reads stored objects in their storage version.
pub(crate) trait ObjectReader {
    /// One object; `namespace` is empty for cluster-scoped kinds.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// All objects of a namespace (of all namespaces for an empty one), by name.
    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>>;

    /// The addresses of this machine that objects may name.
    fn host_addresses(&self) -> HostAddresses {
        HostAddresses::all()
    }

    /// The quota usage of each object of a namespace.
    fn quota_usages(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<ObjectUsage>> {
        let evaluator = Evaluator::of(group, resource);
        let objects = self.list(group, resource, namespace).into_iter();
        objects.map(|o| evaluator.usage(&o).into()).collect()
    }

    /// The cluster IPs and node ports of each Service.
    fn service_allocations(&self) -> Vec<Arc<ServiceAllocations>> {
        let services = self.list("", "services", "").into_iter();
        services
            .map(|s| ServiceAllocations::of(&s).into())
            .collect()
    }
}
