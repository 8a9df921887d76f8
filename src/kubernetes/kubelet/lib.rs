//! The simulated kubelet of the lab's nodes: pods bound to them start, run as long as their
//! commands would, exit, restart, write logs and are deleted. No process is started. Must not
//! depend on the scheduler or on workload controllers.

mod agnhost;
mod attach;
mod authorization;
mod container_program;
mod container_runtime;
mod control_plane;
mod crash_loop_backoff;
mod environment;
mod exec;
mod kubelet_options;
mod lifecycle_events;
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
mod running_instance;
mod server;
mod simple_runtime;
mod simulated_container;
mod simulated_pod;
mod wrapped_command;

#[cfg(test)]
mod shell_runtime;

pub use container_program::container_program;
pub use container_runtime::{Container, ContainerRuntime, ExecError};
pub use control_plane::{ContainerProcess, ControlPlane};
pub use environment::{environment, pod_field};
pub use kubelet_options::{KubeletOptions, NodeScope};
pub use kueue_lab_controller_utils::control_plane_node::CONTROL_PLANE_NODE;
pub use kueue_lab_streaming::port_forward::{DialError, PodConnection};
pub use logs::{LogError, LogQuery, LogStore};
pub use pod_status::READY_ANNOTATION;
pub use pod_workers::{Kubelet, WeakKubelet};
pub use running_instance::{RunningInstance, image_name};
pub use simple_runtime::SimpleRuntime;
