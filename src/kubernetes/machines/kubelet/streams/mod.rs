//! The streams of simulated containers: `exec`, `attach`, port forwarding and the cluster's network.

mod attach;
mod container_files;
mod container_runtime;
mod container_system;
mod exec;
mod exec_environment;
mod pod_network;
mod port_forward;
mod redis_cli;
mod skypilot_nodes;
mod volumes;

pub(super) use container_runtime::{ContainerRuntime, STORAGE, image_name};
