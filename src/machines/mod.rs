//! What a cluster without real machines needs: fake nodes and GPUs, a pod scheduler, a kubelet
//! stand-in, the built-in workload controllers, garbage collection. Reaches the cluster only through
//! a `kube::Client`; must not know the embedded API server or the admission engine.

pub mod config;
pub mod control;
pub mod recorder;
pub mod workloads;

pub use config::MachinesConfig;
