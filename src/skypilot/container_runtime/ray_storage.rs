//! What the heads of Ray clusters with GCS fault tolerance write to Redis.

use std::collections::VecDeque;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use parking_lot::Mutex;

use kueue_lab_controller_utils::pods::phase;

/// The most storage namespaces; the oldest are forgotten.
const MAX_NAMESPACES: usize = 1_000;
/// The tables of the GCS in a storage namespace.
const TABLES: [&str; 5] = ["ACTOR", "JOB", "KV", "NODE", "WORKERS"];

/// A storage namespace of a Ray cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StorageNamespace {
    /// The namespace of the Ray cluster.
    pub(super) client_namespace: String,
    /// `HOST:PORT` of Redis as the Ray cluster names it.
    pub(super) address: String,
    /// The storage namespace.
    name: String,
    /// When it was written.
    pub(super) written_at: Timestamp,
}

impl StorageNamespace {
    /// The keys in Redis.
    pub(super) fn keys(&self) -> impl Iterator<Item = String> {
        TABLES
            .map(|table| format!("RAY{}@{table}", self.name))
            .into_iter()
    }
}

/// The storage namespaces that were written and not cleaned up.
#[derive(Default)]
pub(super) struct RayStorage {
    namespaces: Mutex<VecDeque<StorageNamespace>>,
}

impl RayStorage {
    /// Follows a pod: a running head writes its storage namespace, and a pod of a Redis cleanup Job that has succeeded
    /// has deleted it.
    pub(super) fn observe(&self, pod: &Pod, now: Timestamp) {
        let Some(name) = pod.annotations().get("ray.io/external-storage-namespace") else {
            return;
        };
        let node_type = pod.labels().get("ray.io/node-type").map(String::as_str);
        let is_written = match (node_type, phase(pod)) {
            (Some("head"), "Running") => true,
            (Some("redis-cleanup"), "Succeeded") => false,
            _ => return,
        };
        let Some(address) = redis_address(pod) else {
            return;
        };
        let client_namespace = pod.namespace().unwrap_or_default();
        let mut namespaces = self.namespaces.lock();
        let is_same = |other: &StorageNamespace| {
            (&other.client_namespace, &other.address, &other.name)
                == (&client_namespace, &address, name)
        };
        if !is_written {
            namespaces.retain(|other| !is_same(other));
        } else if !namespaces.iter().any(is_same) {
            if namespaces.len() >= MAX_NAMESPACES {
                namespaces.pop_front();
            }
            namespaces.push_back(StorageNamespace {
                client_namespace,
                address,
                name: name.clone(),
                written_at: now,
            });
        }
    }

    /// All storage namespaces.
    pub(super) fn namespaces(&self) -> Vec<StorageNamespace> {
        self.namespaces.lock().iter().cloned().collect()
    }
}

/// The address in the environment of the Ray container.
fn redis_address(pod: &Pod) -> Option<String> {
    let container = pod.spec.as_ref()?.containers.first()?;
    let mut variables = container.env.iter().flatten();
    let variable = variables.find(|variable| variable.name == "RAY_REDIS_ADDRESS")?;
    let address = variable.value.as_deref()?.split(',').next()?;
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    Some(address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(node_type: &str, phase: &str, storage: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {
                "name": node_type,
                "namespace": "team",
                "labels": {"ray.io/node-type": node_type},
                "annotations": {"ray.io/external-storage-namespace": storage},
            },
            "spec": {"containers": [{"name": "ray", "env": [
                {"name": "RAY_REDIS_ADDRESS", "value": "redis://redis.other:6379,redis.second:6379"},
            ]}]},
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    #[test]
    fn a_storage_namespace_exists_from_the_start_of_the_head_to_the_end_of_the_cleanup() {
        let storage = RayStorage::default();
        let count = || storage.namespaces().len();
        let now = Timestamp::UNIX_EPOCH;
        storage.observe(&pod("head", "Pending", "a"), now);
        assert_eq!(count(), 0);
        storage.observe(&pod("head", "Running", "a"), now);
        storage.observe(&pod("head", "Running", "a"), now);
        storage.observe(&pod("head", "Running", "b"), now);
        storage.observe(&pod("worker", "Running", "c"), now);
        assert_eq!(count(), 2);
        assert_eq!(storage.namespaces()[0].address, "redis.other:6379");
        assert!(
            storage.namespaces()[0]
                .keys()
                .all(|key| key.starts_with("RAYa@"))
        );
        storage.observe(&pod("redis-cleanup", "Failed", "a"), now);
        assert_eq!(count(), 2);
        storage.observe(&pod("redis-cleanup", "Succeeded", "a"), now);
        assert_eq!(count(), 1);
        for number in 0..2 * MAX_NAMESPACES {
            storage.observe(&pod("head", "Running", &number.to_string()), now);
        }
        assert_eq!(count(), MAX_NAMESPACES);
    }
}
