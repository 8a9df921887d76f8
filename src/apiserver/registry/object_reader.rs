//! Read access to stored objects.

use std::sync::Arc;

use serde_json::Value;

/// Reads stored objects in their storage version.
pub(crate) trait ObjectReader {
    /// One object; `namespace` is empty for cluster-scoped kinds.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// All objects of a namespace (of all namespaces for an empty one), by name.
    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>>;
}
