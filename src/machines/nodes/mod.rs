//! The lab's nodes: pools read from a file, made into Node objects that are kept Ready, and what
//! becomes of nodes that are not; besides, fake resources on nodes that are really there. Must not
//! know the kubelet stand-in.

mod fake_gpus;
mod node_lease;
pub mod node_lifecycle;
mod node_pools;
mod removal;
mod taint_eviction;
mod validation;
mod virtual_node;
mod virtual_node_controller;

pub use fake_gpus::{FakeGpuController, RealNodes};
pub use node_pools::{Autoscale, NodePool, NodePools, PoolTopologyLevel, PoolsError};
pub use removal::{RemovedNodes, remove_all};
pub use virtual_node::{
    ClusterType, KubeletAddress, MANAGED, POOL, is_managed, node_name, template_node,
};
pub use virtual_node_controller::VirtualNodeController;
