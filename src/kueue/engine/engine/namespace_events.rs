//! Events of Namespaces.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;

use super::Engine;

impl Engine {
    /// Adds or updates a Namespace. Inadmissible workloads of the ClusterQueues whose selector
    /// newly matches it are requeued.
    pub(super) fn upsert_namespace(&mut self, namespace: &Namespace, now: Timestamp) {
        let Some(old) = self.cluster_objects.upsert_namespace(namespace) else {
            return;
        };
        let labels = namespace.metadata.labels.clone().unwrap_or_default();
        if old != labels {
            let before = self.cache.matching_cluster_queues(&old);
            let mut retry = self.cache.matching_cluster_queues(&labels);
            retry.retain(|name| !before.contains(name));
            self.notify_retry_inadmissible(retry, now);
        }
    }

    /// Deletes a Namespace.
    pub(super) fn delete_namespace(&mut self, name: &str) {
        self.cluster_objects.remove_namespace(name);
    }
}
