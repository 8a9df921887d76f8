//! Events of ResourceFlavors, AdmissionChecks and Topologies.

use std::sync::Arc;

use jiff::Timestamp;

use super::Engine;
use kueue_lab_api::v1beta2::{AdmissionCheck, ResourceFlavor, Topology};

impl Engine {
    /// Adds or updates a ResourceFlavor.
    pub(super) fn upsert_flavor(&mut self, flavor: Arc<ResourceFlavor>, now: Timestamp) {
        let name = flavor.metadata.name.clone().unwrap_or_default();
        let old = self.cache.flavor(&name).cloned();
        if old.is_some() && flavor.metadata.deletion_timestamp.is_some() {
            return;
        }
        let mut retry = self.cache.upsert_flavor(flavor.clone(), &self.config);
        if old.is_none() && !retry.is_empty() {
            // Wakes the scheduler even if no workload is inadmissible.
            self.queues.broadcast();
        }
        let changed = old.as_ref().is_some_and(|old| {
            let (a, b) = (&old.spec, &flavor.spec);
            a.node_taints != b.node_taints
                || a.tolerations != b.tolerations
                || a.node_labels != b.node_labels
        });
        if changed {
            retry.extend(self.cache.cluster_queues_using_flavor(&name));
        }
        self.notify_retry_inadmissible(retry, now);
        let topology = |f: &ResourceFlavor| f.spec.topology_name.is_some();
        let moved = old
            .as_ref()
            .is_none_or(|old| old.spec.topology_name != flavor.spec.topology_name);
        if topology(&flavor) && (moved || changed) {
            self.notify_retry_inadmissible_everywhere(now);
        }
    }

    /// Deletes a ResourceFlavor.
    pub(super) fn delete_flavor(&mut self, name: &str, now: Timestamp) {
        let retry = self.cache.delete_flavor(name, &self.config);
        self.notify_retry_inadmissible(retry, now);
    }

    /// Requests that inadmissible workloads of all ClusterQueues are requeued.
    pub(super) fn notify_retry_inadmissible_everywhere(&mut self, now: Timestamp) {
        let active = self.cache.cluster_queues().filter(|q| q.is_active());
        let names: Vec<Arc<str>> = active.map(|q| q.name.clone()).collect();
        self.notify_retry_inadmissible(names, now);
    }

    /// Adds or updates an AdmissionCheck.
    pub(super) fn upsert_check(&mut self, check: &AdmissionCheck, now: Timestamp) {
        let known = check.metadata.name.as_deref().unwrap_or_default();
        if check.metadata.deletion_timestamp.is_some() && self.cache.check(known).is_some() {
            return;
        }
        let retry = self.cache.upsert_check(check, &self.config);
        self.notify_retry_inadmissible(retry, now);
    }

    /// Deletes an AdmissionCheck.
    pub(super) fn delete_check(&mut self, name: &str, now: Timestamp) {
        let retry = self.cache.delete_check(name, &self.config);
        self.notify_retry_inadmissible(retry, now);
    }

    /// Adds or updates a Topology.
    pub(super) fn upsert_topology(&mut self, topology: Arc<Topology>, now: Timestamp) {
        let name = topology.metadata.name.clone().unwrap_or_default();
        let old = self.store.topologies.insert(name.clone(), topology.clone());
        let known = old.is_some();
        if old.is_some_and(|old| old.spec.levels == topology.spec.levels) {
            return;
        }
        let mut retry = self.cache.upsert_topology(&topology, &self.config);
        retry.extend(self.cache.cluster_queues_using_topology(&name));
        self.notify_retry_inadmissible(retry, now);
        if !known {
            self.queues.broadcast();
        }
    }

    /// Deletes a Topology.
    pub(super) fn delete_topology(&mut self, name: &str) {
        self.store.topologies.remove(name);
        self.cache.delete_topology(name, &self.config);
    }
}
