//! The machines of a cluster without real ones: virtual nodes and fake GPUs, a pod scheduler, a
//! simulated kubelet, the built-in workload controllers, garbage collection. Uses the cluster only
//! through a `kube::Client`; must not depend on the embedded API server or the admission engine.

mod autoscaler;
mod config;
pub mod controller_manager;
mod device_taints;
mod event_recorder;
mod int_or_percent;
pub mod kubelet;
mod machines;
pub mod nodes;
pub mod operators;
mod pod_eviction;
pub mod pods;
mod resource_claims;
mod resources;
mod scheduler;
pub mod workload_controllers;

pub use config::MachinesConfig;
pub use machines::Machines;
