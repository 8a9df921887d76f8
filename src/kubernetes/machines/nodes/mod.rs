//! The lab's nodes: node pools read from a file, the virtual Node objects of their nodes, the node
//! lifecycle, and fake resources on real nodes. Must not depend on the kubelet.

mod desired_nodes;
mod fake_gpus;
mod node_devices;
mod node_health;
mod node_lease;
pub(crate) mod node_lifecycle;
mod node_patches;
mod node_pools;
mod not_ready_taint;
mod removal;
mod resource_slices;
pub(crate) mod taint_eviction;
pub(crate) mod ttl_controller;
mod validation;
mod virtual_node;
mod virtual_node_controller;

pub use fake_gpus::{FakeGpuController, RealNodes};
pub use node_devices::NodeDevices;
pub use node_pools::{Autoscale, NodePool, NodePools, PoolTopologyLevel, PoolsError};
pub use removal::{RemovedNodes, remove_all};
pub use virtual_node::{ClusterType, KubeletAddress, POOL, is_managed};
pub(crate) use virtual_node::{has_stopped_kubelet, template_node};
pub use virtual_node_controller::VirtualNodeController;
