//! One served resource: names for discovery, schema and strategy.

use std::sync::Arc;

use super::rest_strategy::Strategy;
use crate::schema::Schema;

/// One kind in one served version.
#[derive(Clone)]
pub struct ApiResource {
    /// API group, empty for core.
    pub group: Arc<str>,
    /// Version, such as `v1`.
    pub version: Arc<str>,
    /// Kind, such as `Pod`.
    pub kind: Arc<str>,
    /// Kind of a list of these, such as `PodList`.
    pub list_kind: Arc<str>,
    /// Resource name in paths, such as `pods`.
    pub plural: Arc<str>,
    /// Singular name, such as `pod`.
    pub singular: Arc<str>,
    /// Short names, such as `po`.
    pub short_names: Vec<String>,
    /// Categories, such as `list_bindings`.
    pub categories: Vec<String>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Verbs discovery names; a request with another verb is a 405.
    pub verbs: Vec<&'static str>,
    /// Subresources besides none: `status_subresource`, `scale`, `pod_log`, `binding`, `eviction`, by name.
    pub subresources: Vec<Subresource>,
    /// The group objects of this kind are stored in; another than `group` only where two groups
    /// serve the same objects (`events.k8s.io` serves the Events of core).
    pub storage_group: Arc<str>,
    /// The version objects of this kind are stored in.
    pub storage_version: Arc<str>,
    /// `storageVersionHash` of discovery; empty for kinds that are never stored.
    pub storage_version_hash: String,
    /// The structural schema of this version; `None` for kinds that are never stored.
    pub schema: Option<Arc<Schema>>,
    /// How objects of this kind are prepared, defaulted, validated and printed.
    pub strategy: Arc<dyn Strategy>,
}

/// One subresource, as discovery describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Last path segment, such as `status_subresource`.
    pub name: &'static str,
    /// API group of `kind` where it is not the parent's, else empty.
    pub group: Arc<str>,
    /// API version of `kind` where it is not the parent's, else empty.
    pub version: Arc<str>,
    /// The kind it speaks, such as `Scale`.
    pub kind: Arc<str>,
    /// Verbs discovery names.
    pub verbs: &'static [&'static str],
}

impl ApiResource {
    /// The subresource of this name, if the kind has it.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }
}

/// The hash by which discovery lets clients notice a change of storage version.
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
