//! Events of ResourceFlavors, AdmissionChecks, Topologies, Namespaces, LimitRanges and
//! RuntimeClasses.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LimitRange, Namespace};
use k8s_openapi::api::node::v1::RuntimeClass;

use super::Engine;
use crate::workload::predicates;
use kueue_lab_api::v1beta2::{AdmissionCheck, ResourceFlavor, Topology};

impl Engine {
    /// Adds or updates a ResourceFlavor.
    pub fn upsert_flavor(&mut self, flavor: Arc<ResourceFlavor>, now: Timestamp) {
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
    pub fn delete_flavor(&mut self, name: &str, now: Timestamp) {
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
    pub fn upsert_check(&mut self, check: &AdmissionCheck, now: Timestamp) {
        let known = check.metadata.name.as_deref().unwrap_or_default();
        if check.metadata.deletion_timestamp.is_some() && self.cache.check(known).is_some() {
            return;
        }
        let retry = self.cache.upsert_check(check, &self.config);
        self.notify_retry_inadmissible(retry, now);
    }

    /// Deletes an AdmissionCheck.
    pub fn delete_check(&mut self, name: &str, now: Timestamp) {
        let retry = self.cache.delete_check(name, &self.config);
        self.notify_retry_inadmissible(retry, now);
    }

    /// Adds or updates a Topology.
    pub fn upsert_topology(&mut self, topology: Arc<Topology>, now: Timestamp) {
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
    pub fn delete_topology(&mut self, name: &str) {
        self.store.topologies.remove(name);
        self.cache.delete_topology(name, &self.config);
    }

    /// Adds or updates a Namespace. Inadmissible workloads of the ClusterQueues whose selector
    /// newly matches it are requeued.
    pub fn upsert_namespace(&mut self, namespace: &Namespace, now: Timestamp) {
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
    pub fn delete_namespace(&mut self, name: &str) {
        self.cluster_objects.remove_namespace(name);
    }

    /// Adds or updates a LimitRange.
    pub fn upsert_limit_range(&mut self, range: LimitRange, now: Timestamp) {
        let namespace = range.metadata.namespace.clone().unwrap_or_default();
        self.cluster_objects.upsert_limit_range(range);
        self.requeue_pending(|wl| predicates::namespace(wl) == namespace, now);
    }

    /// Deletes a LimitRange.
    pub fn delete_limit_range(&mut self, namespace: &str, name: &str, now: Timestamp) {
        self.cluster_objects.remove_limit_range(namespace, name);
        self.requeue_pending(|wl| predicates::namespace(wl) == namespace, now);
    }

    /// Adds or updates a RuntimeClass.
    pub fn upsert_runtime_class(&mut self, class: &RuntimeClass, now: Timestamp) {
        self.cluster_objects.upsert_runtime_class(class);
        let name = class.metadata.name.clone().unwrap_or_default();
        self.requeue_users(&name, now);
    }

    /// Deletes a RuntimeClass.
    pub fn delete_runtime_class(&mut self, name: &str, now: Timestamp) {
        self.cluster_objects.remove_runtime_class(name);
        self.requeue_users(name, now);
    }

    fn requeue_users(&mut self, runtime_class: &str, now: Timestamp) {
        let uses = |wl: &kueue_lab_api::v1beta2::Workload| {
            let specs = wl.spec.pod_sets.iter();
            let mut specs = specs.filter_map(|ps| ps.template.spec.as_ref());
            specs.any(|spec| spec.runtime_class_name.as_deref() == Some(runtime_class))
        };
        self.requeue_pending(uses, now);
    }
}
