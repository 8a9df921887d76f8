//! Events of Nodes and Pods, for topology-aware scheduling.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};

use super::Engine;

impl Engine {
    /// Adds or updates a Node. A relevant change requeues inadmissible workloads after a delay.
    pub(super) fn upsert_node(&mut self, node: &Node, now: Timestamp) {
        let name = node.metadata.name.clone().unwrap_or_default();
        let labels = node.metadata.labels.clone().unwrap_or_default();
        let before = self.timers.node_labels.insert(name, labels.clone());
        if !self.cache.tas.upsert_node(node) {
            return;
        }
        for labels in before.iter().chain([&labels]) {
            if !self.cache.tas.flavors_of_node(labels).is_empty() {
                self.timers.schedule_node_retry(now);
            }
        }
    }

    /// Deletes a Node.
    pub(super) fn delete_node(&mut self, name: &str, now: Timestamp) {
        let before = self.timers.node_labels.remove(name);
        let is_tas_node = before.is_some_and(|l| !self.cache.tas.flavors_of_node(&l).is_empty());
        if self.cache.tas.delete_node(name) && is_tas_node {
            self.timers.schedule_node_retry(now);
        }
    }

    /// Adds or updates a Pod. When it releases capacity of a node of a TAS flavor, inadmissible
    /// workloads are requeued after a delay.
    pub(super) fn upsert_pod(&mut self, pod: &Pod, now: Timestamp) {
        if let Some(node) = self.cache.tas.upsert_pod(pod) {
            self.timers.schedule_freed_node_retry(node, now);
        }
    }

    /// Deletes a Pod.
    pub(super) fn delete_pod(&mut self, namespace: &str, name: &str, now: Timestamp) {
        if let Some(node) = self.cache.tas.delete_pod(namespace, name) {
            self.timers.schedule_freed_node_retry(node, now);
        }
    }
}
