//! [`ClientWrite`]: a write of another client that the engine is to observe.

use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_controller_runtime::{ObjectKey, ObservedWrite};

use super::Informers;

/// A write of another client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientWrite {
    /// The API group of the object; empty for core.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its resource version.
    pub write: ObservedWrite,
}

impl Informers {
    /// Whether a write was delivered to the event handlers of the engine.
    pub(crate) fn have_observed(&self, write: &ClientWrite) -> bool {
        let ClientWrite { key, write: by, .. } = write;
        match (&*write.group, &*write.kind) {
            (GROUP, "ClusterQueue") => self.cluster_queues.has_observed(key, *by),
            (GROUP, "LocalQueue") => self.local_queues.has_observed(key, *by),
            (GROUP, "Cohort") => self.cohorts.has_observed(key, *by),
            (GROUP, "ResourceFlavor") => self.resource_flavors.has_observed(key, *by),
            (GROUP, "AdmissionCheck") => self.admission_checks.has_observed(key, *by),
            (GROUP, "Topology") => self.topologies.has_observed(key, *by),
            ("", "Namespace") => self.namespaces.has_observed(key, *by),
            ("", "LimitRange") => self.limit_ranges.has_observed(key, *by),
            ("node.k8s.io", "RuntimeClass") => self.runtime_classes.has_observed(key, *by),
            _ => true,
        }
    }
}
