//! The kubelet stand-in of the lab's nodes: pods bound to them start, run as long as their commands
//! would, end, restart, write logs, and leave when they are deleted. No process is ever started.
//! Must not know the scheduler or who wants the pods.

mod log_options;
mod logs;
mod pod_ip_allocator;
mod pod_log_source;
mod pod_status;
mod pod_workers;
mod program;
mod server;
mod shell;
mod simulated_container;
mod simulated_pod;

pub use logs::{LogError, LogQuery, LogStore};
pub use pod_workers::{Kubelet, KubeletOptions, NodeScope};
pub use program::{Program, ProgramEvent};
