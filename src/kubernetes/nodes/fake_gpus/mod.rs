//! Fake GPUs on real nodes: extended resources in the node's status, labels and taints, reapplied
//! when a kubelet resets them, and fully reverted on uninstall.
//!
//! Real capacity and fields of other managers are never changed: see [`last_applied`].

mod fake_gpu_controller;
mod last_applied;
mod restore;

pub use fake_gpu_controller::FakeGpuController;
pub(super) use restore::restore_all;
