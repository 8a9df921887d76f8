//! Which parts of the machines run, and how.

use super::kubelet::{KubeletOptions, WhoseNodes};
use super::nodes::Surroundings;

/// Switches for each part. On a real cluster only nodes and their kubelets are the lab's; on the
/// embedded one everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachinesConfig {
    /// Make the nodes of the pools and keep them Ready.
    pub nodes: bool,
    /// Bind pods of `default-scheduler` to nodes.
    pub scheduler: bool,
    /// Run the pods bound to the lab's own nodes.
    pub kubelet: bool,
    /// Answer ProvisioningRequests as a node autoscaler would.
    pub autoscaler: bool,
    /// Job, ReplicaSet, Deployment, StatefulSet, CronJob and DaemonSet controllers.
    pub workloads: bool,
    /// Garbage collection of objects whose owners are gone, and of orphaned pods.
    pub gc: bool,
    /// Namespace deletion, default service accounts, root CA config maps.
    pub namespaces: bool,
    /// Endpoints, quota status, disruption budgets, volume binding.
    pub bookkeeping: bool,
    /// Taints on nodes that stopped reporting, and eviction from them.
    pub node_lifecycle: bool,
    /// What else there is in the cluster.
    pub surroundings: Surroundings,
    /// How the kubelets behave.
    pub kubelets: KubeletOptions,
}

impl MachinesConfig {
    /// Everything: the embedded cluster has nobody else to do it.
    pub fn embedded() -> Self {
        Self {
            nodes: true,
            scheduler: true,
            kubelet: true,
            autoscaler: true,
            workloads: true,
            gc: true,
            namespaces: true,
            bookkeeping: true,
            node_lifecycle: true,
            surroundings: Surroundings::Alone,
            kubelets: KubeletOptions {
                nodes: WhoseNodes::All,
                ..KubeletOptions::default()
            },
        }
    }

    /// Virtual nodes in a cluster that has its own control plane.
    pub fn real_cluster() -> Self {
        Self {
            nodes: true,
            kubelet: true,
            autoscaler: true,
            scheduler: false,
            workloads: false,
            gc: false,
            namespaces: false,
            bookkeeping: false,
            node_lifecycle: false,
            surroundings: Surroundings::AmongOthers,
            kubelets: KubeletOptions::default(),
        }
    }
}

impl Default for MachinesConfig {
    fn default() -> Self {
        Self::embedded()
    }
}
