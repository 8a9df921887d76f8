//! Fake GPUs on nodes that are really there: resources through the node's status, labels and taints,
//! kept in place when a kubelet resets them, and taken away without a trace.
//!
//! What a node really has, and what others set, is never touched: see [`mark`].

mod fake_gpu_controller;
mod last_applied;
mod real_nodes;
mod restore;

pub use fake_gpu_controller::FakeGpuController;
pub(super) use real_nodes::RawRealNodes;
pub use real_nodes::RealNodes;
pub(super) use restore::restore_all;
