//! [`ApiResource`]: one served resource with names for discovery, schema and strategy.

use std::sync::Arc;

use super::rest_strategy::Strategy;
use crate::schema::Schema;

/// One resource in one served version.
#[derive(Clone)]
pub struct ApiResource {
    /// API group, empty for core.
    pub group: Arc<str>,
    /// Version, such as `v1`.
    pub version: Arc<str>,
    /// Kind, such as `Pod`.
    pub kind: Arc<str>,
    /// Kind of lists, such as `PodList`.
    pub list_kind: Arc<str>,
    /// Resource name in paths, such as `pods`.
    pub plural: Arc<str>,
    /// Singular name, such as `pod`.
    pub singular: Arc<str>,
    /// Short names, such as `po`.
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    pub categories: Vec<String>,
    /// Whether the resource is namespaced.
    pub namespaced: bool,
    /// Supported verbs, as in discovery; other verbs are rejected with 405.
    pub verbs: Vec<&'static str>,
    /// Subresources by name: `status`, `scale`, `log`, `binding`, `eviction`.
    pub subresources: Vec<Subresource>,
    /// The API group of stored objects; differs from `group` only if two groups serve the same
    /// objects (`events.k8s.io` serves the Events of core).
    pub storage_group: Arc<str>,
    /// The storage version.
    pub storage_version: Arc<str>,
    /// `storageVersionHash` of discovery; empty for kinds that are never stored.
    pub storage_version_hash: String,
    /// The structural schema of this version; `None` for kinds that are never stored.
    pub schema: Option<Arc<Schema>>,
    /// The strategy of the kind.
    pub strategy: Arc<dyn Strategy>,
}

/// One subresource, as discovery describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Last path segment, such as `status`.
    pub name: &'static str,
    /// API group of `kind` if it differs from that of the parent, otherwise empty.
    pub group: Arc<str>,
    /// API version of `kind` if it differs from that of the parent, otherwise empty.
    pub version: Arc<str>,
    /// The kind of requests and responses, such as `Scale`.
    pub kind: Arc<str>,
    /// Supported verbs, as in discovery.
    pub verbs: &'static [&'static str],
}

impl ApiResource {
    /// The subresource with the given name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }
}

/// `storageVersionHash` of discovery, by which clients detect a change of the storage version.
pub fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    use base64::Engine;
    use sha2::Digest;
    let sum = sha2::Sha256::digest(format!("{group}/{version}/{kind}"));
    base64::engine::general_purpose::STANDARD.encode(sum.get(..8).unwrap_or_default())
}

impl std::fmt::Debug for ApiResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kind({}/{} {})", self.group, self.version, self.kind)
    }
}
