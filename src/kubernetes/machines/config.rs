//! Configuration of the machines: which parts run, and how.

use kueue_lab_controller_manager::ControllerManagerConfig;
use kueue_lab_kubelet::{KubeletOptions, NodeScope};
use kueue_lab_nodes::ClusterType;

/// Switches for each part. On a real cluster the lab runs only its nodes and their kubelets; on the
/// embedded one everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachinesConfig {
    /// Create the nodes of the pools and keep them Ready.
    pub nodes: bool,
    /// Bind pods of `default-scheduler` to nodes.
    pub scheduler: bool,
    /// Run the pods bound to the lab's nodes.
    pub kubelet: bool,
    /// Reconcile ProvisioningRequests as a cluster autoscaler would.
    pub autoscaler: bool,
    /// The nodes are those of an imported cluster, whose autoscaler may add some that are not known: a
    /// ProvisioningRequest without capacity stays open while there are no pools.
    pub imported_nodes: bool,
    /// The controllers of the controller manager.
    pub controllers: ControllerManagerConfig,
    /// Stand-ins for job operators, such as KubeRay and JobSet.
    pub operators: bool,
    /// Taint nodes that stopped reporting, and evict the pods of tainted nodes.
    pub node_lifecycle: bool,
    /// The nodes renew their Leases once an hour: nothing but the node lifecycle controller reads them,
    /// which acts at the same times.
    pub sparse_heartbeats: bool,
    /// The kind of cluster.
    pub cluster_type: ClusterType,
    /// Options of the kubelets.
    pub kubelets: KubeletOptions,
}

impl MachinesConfig {
    /// Everything: the embedded cluster has no other control plane components.
    pub fn embedded() -> Self {
        Self {
            nodes: true,
            scheduler: true,
            kubelet: true,
            autoscaler: true,
            imported_nodes: false,
            controllers: ControllerManagerConfig::ALL,
            operators: true,
            node_lifecycle: true,
            sparse_heartbeats: false,
            cluster_type: ClusterType::Embedded,
            kubelets: KubeletOptions {
                nodes: NodeScope::All,
                ..KubeletOptions::default()
            },
        }
    }

    /// Nothing: the objects of the embedded cluster stay as they are.
    pub fn disabled() -> Self {
        Self {
            nodes: false,
            scheduler: false,
            kubelet: false,
            autoscaler: false,
            controllers: ControllerManagerConfig::NONE,
            operators: false,
            node_lifecycle: false,
            ..Self::embedded()
        }
    }

    /// Virtual nodes in a cluster that has its own control plane.
    pub fn real_cluster() -> Self {
        Self {
            nodes: true,
            kubelet: true,
            autoscaler: true,
            imported_nodes: false,
            scheduler: false,
            controllers: ControllerManagerConfig::NONE,
            operators: false,
            node_lifecycle: false,
            sparse_heartbeats: false,
            cluster_type: ClusterType::Remote,
            kubelets: KubeletOptions::default(),
        }
    }
}

impl Default for MachinesConfig {
    fn default() -> Self {
        Self::embedded()
    }
}
