//! Fake GPUs on real nodes: extended resources in the node's status, labels and taints, reapplied
//! when a kubelet resets them, and fully reverted on uninstall.
//!
//! Real capacity and fields of other managers are never changed: see [`last_applied`].

mod fake_gpu_controller;
mod last_applied;
mod real_nodes;
mod restore;

pub use fake_gpu_controller::FakeGpuController;
pub(super) use real_nodes::RawRealNodes;
pub use real_nodes::RealNodes;
pub(super) use restore::restore_all;
