//! The simulated kubelet of the lab's nodes: pods bound to them start, run as long as their
//! commands would, exit, restart, write logs and are deleted. No process is started. Must not
//! depend on the scheduler or on workload controllers.

mod agnhost;
mod attach;
mod authorization;
mod container_files;
mod container_program;
mod container_runtime;
mod container_system;
mod control_plane;
mod crash_loop_backoff;
mod environment;
mod exec;
mod exec_environment;
mod kubelet_options;
mod lifecycle_events;
mod limits;
mod log_options;
mod logs;
mod long_scripts;
mod node_server;
mod pod_ip_allocator;
mod pod_log_source;
mod pod_network;
mod pod_server;
mod pod_status;
mod pod_workers;
mod port_forward;
mod prepared_resources;
mod ray_storage;
mod redis_cli;
mod server;
mod simulated_container;
mod simulated_pod;
mod skypilot_nodes;
mod volumes;
mod wrapped_command;

pub use container_program::container_program;
pub use control_plane::{ContainerProcess, ControlPlane};
pub use kubelet_options::{KubeletOptions, NodeScope};
pub use kueue_lab_component_helpers::control_plane_node::CONTROL_PLANE_NODE;
pub use kueue_lab_streaming::port_forward::PodConnection;
pub use limits::limits;
pub use logs::{LogError, LogQuery, LogStore};
pub use pod_status::READY_ANNOTATION;
pub use pod_workers::Kubelet;
