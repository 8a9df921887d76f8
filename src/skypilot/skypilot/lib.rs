//! Emulates SkyPilot as a client of the cluster: creates the Pods of a task, and the managed-jobs
//! controller that detects a preemption and relaunches. Reaches the cluster only through a
//! `kube::Client`.
//!
//! The behaviour is that of SkyPilot 0.14.1. SkyPilot runs `setup` and `run` by exec, so they are not
//! part of the Pods; here they only determine the duration and the exit code of the job. Must not
//! depend on the controller, the machines or the API server.

pub mod clusters;
mod config;
mod env;
mod gpu_labels;

pub mod jobs;
mod launch;
mod merge_k8s_configs;
mod naming;
mod pod;
mod pod_resources;
mod services_and_roles;
mod simulated_run;
mod table;
mod task;
#[cfg(test)]
mod test_fixtures;

pub use config::{SkyConfig, TaskConfigOverrides};
pub use env::{ConfigFileError, SkyEnv};
pub(crate) use gpu_labels::NodeInfo;
pub use launch::LaunchError;
pub(crate) use launch::{ClusterPlan, plan};
pub use pod_resources::PodResourcesError;
pub(crate) use simulated_run::SimulatedRun;
pub use task::{
    Accelerator, JobRecovery, Memory, RecoveryStrategy, Task, TaskError, TaskOverrides,
    TaskResources,
};
