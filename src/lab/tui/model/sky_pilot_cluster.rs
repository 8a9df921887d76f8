//! Clusters of SkyPilot: Pods that a managed job launches, and launches again when they are deleted.

use super::ObjectRef;

/// The label of a Pod that names its cluster of SkyPilot.
pub(crate) const SKYPILOT_CLUSTER_LABEL: &str = "skypilot-cluster-name";

/// A cluster of SkyPilot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkyPilotCluster {
    /// Its name in Kubernetes.
    pub name: String,
    /// Its Pods.
    pub pods: Vec<ObjectRef>,
}
