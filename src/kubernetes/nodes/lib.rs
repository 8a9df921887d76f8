//! The lab's nodes: node pools read from a file, the virtual Node objects of their nodes, the node
//! lifecycle, and fake resources on real nodes. Must not depend on the kubelet.

mod desired_nodes;
mod fake_gpus;
mod node_devices;
mod node_health;
mod node_lease;
pub mod node_lifecycle;
mod node_patches;
mod node_pools;
mod not_ready_taint;
mod real_nodes;
mod removal;
mod resource_slices;
pub mod taint_eviction;
pub mod ttl_controller;
mod validation;
mod virtual_node;
mod virtual_node_controller;

pub use fake_gpus::FakeGpuController;
pub use node_devices::NodeDevices;
pub use node_pools::{Autoscale, NodePool, NodePools, PoolTopologyLevel, PoolsError};
pub use real_nodes::RealNodes;
pub use removal::{RemovedNodes, remove_all};
pub use virtual_node::{
    ClusterType, KubeletAddress, POOL, has_stopped_kubelet, is_managed, template_node,
};
pub use virtual_node_controller::VirtualNodeController;
