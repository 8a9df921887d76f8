//! Events of LimitRanges and RuntimeClasses: they adjust the requests of pending workloads.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::LimitRange;
use k8s_openapi::api::node::v1::RuntimeClass;

use super::Engine;
use crate::workload::predicates;
use kueue_lab_api::v1beta2::Workload;

impl Engine {
    /// Adds or updates a LimitRange.
    pub(super) fn upsert_limit_range(&mut self, range: Arc<LimitRange>, now: Timestamp) {
        let namespace = range.metadata.namespace.clone().unwrap_or_default();
        self.cluster_objects
            .upsert_limit_range(Arc::unwrap_or_clone(range));
        self.requeue_pending(|wl| predicates::namespace(wl) == namespace, now);
    }

    /// Deletes a LimitRange.
    pub(super) fn delete_limit_range(&mut self, namespace: &str, name: &str, now: Timestamp) {
        self.cluster_objects.remove_limit_range(namespace, name);
        self.requeue_pending(|wl| predicates::namespace(wl) == namespace, now);
    }

    /// Adds or updates a RuntimeClass.
    pub(super) fn upsert_runtime_class(&mut self, class: &RuntimeClass, now: Timestamp) {
        self.cluster_objects.upsert_runtime_class(class);
        let name = class.metadata.name.clone().unwrap_or_default();
        self.requeue_users(&name, now);
    }

    /// Deletes a RuntimeClass.
    pub(super) fn delete_runtime_class(&mut self, name: &str, now: Timestamp) {
        self.cluster_objects.remove_runtime_class(name);
        self.requeue_users(name, now);
    }

    fn requeue_users(&mut self, runtime_class: &str, now: Timestamp) {
        let uses = |wl: &Workload| {
            let specs = wl.spec.pod_sets.iter();
            let mut specs = specs.filter_map(|ps| ps.template.spec.as_ref());
            specs.any(|spec| spec.runtime_class_name.as_deref() == Some(runtime_class))
        };
        self.requeue_pending(uses, now);
    }
}
