//! [`ObjectWrite`]: a write of a preset to the cluster.

use serde_json::Value;

use super::ResourceKey;

/// A write of a preset to the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectWrite {
    /// The object.
    pub key: ResourceKey,
    /// Its resource version after the write; before it if it is a deletion. 0 if unknown.
    pub resource_version: u64,
    /// Whether it is a deletion.
    pub is_deletion: bool,
}

impl ObjectWrite {
    /// The write that the API server has answered with `object`.
    pub(crate) fn applied(key: &ResourceKey, object: &Value) -> Self {
        Self {
            key: key.clone(),
            resource_version: resource_version(object),
            is_deletion: false,
        }
    }

    /// The deletion of `object`.
    pub(crate) fn deleted(key: &ResourceKey, object: &Value) -> Self {
        Self {
            is_deletion: true,
            ..Self::applied(key, object)
        }
    }
}

fn resource_version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or(0)
}
