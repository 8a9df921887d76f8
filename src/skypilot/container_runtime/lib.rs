//! The simulated containers of the lab as the kubelet's [`ContainerRuntime`](kueue_lab_kubelet::ContainerRuntime):
//! durations and output of scripts, commands of `exec` with files, network and GPUs, and SkyPilot's runtime.

mod container_files;
mod container_system;
mod exec_container;
mod exec_environment;
mod limits;
mod ray_storage;
mod redis_cli;
mod requests;
mod simulated_runtime;
mod skypilot_nodes;
mod volumes;

pub use kueue_lab_skylet::{
    JobsController, JobsControllerError, ManagedJob, ManagedJobOutput, ManagedJobSubmission,
    NewManagedJob,
};
pub use limits::limits;
pub use simulated_runtime::SimulatedRuntime;
