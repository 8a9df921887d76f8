//! The simulated kubelet of the lab's nodes: pods bound to them start, run as long as their
//! commands would, exit, restart, write logs and are deleted. No process is started. Must not
//! depend on the scheduler or on workload controllers.

mod authorization;
mod container_program;
mod control_plane;
mod crash_loop_backoff;
mod environment;
mod kubelet_options;
mod lifecycle_events;
mod limits;
mod log_options;
mod logs;
mod long_scripts;
mod node_server;
mod pod_ip_allocator;
mod pod_log_source;
mod pod_servers;
mod pod_status;
mod pod_workers;
mod prepared_resources;
mod ray_storage;
mod server;
mod simulated_container;
mod simulated_pod;
mod streams;
mod wrapped_command;

pub(crate) use container_program::container_program;
pub use control_plane::{CONTROL_PLANE_NODE, ContainerProcess, ControlPlane};
pub use kubelet_options::{KubeletOptions, NodeScope};
pub use kueue_lab_streaming::port_forward::PodConnection;
pub use limits::limits;
pub use logs::{LogError, LogQuery, LogStore};
pub use pod_status::READY_ANNOTATION;
pub use pod_workers::Kubelet;
