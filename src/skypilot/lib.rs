//! SkyPilot as the cluster sees it: task YAML to the Pods SkyPilot submits, and the managed-job loop
//! that notices a preemption and resubmits. Reaches the cluster only through a `kube::Client`.
//!
//! The behaviour is that of SkyPilot 0.14.1. What a task says of `setup`, `run`, files and
//! environment never reaches a Pod there (it arrives later by exec), so here it only decides how
//! long the job runs and how it ends. Knows `api`, `clock`, `entropy` and `yaml`; never the
//! controller, the machines or the API server.

mod config;
mod env;
mod gpu_labels;

pub mod jobs;
mod launch;
mod naming;
mod pod;
mod services_and_roles;
mod simulated_run;
mod sizing;
mod task;

pub use config::{QueueSettings, SkyConfig};
pub use env::SkyEnv;
pub use gpu_labels::{GpuLabelFormatter, NodeInfo};
pub use launch::{ClusterPlan, LaunchError, plan};
pub use naming::{cluster_name_on_cloud, managed_cluster_name};
pub use simulated_run::SimulatedRun;
pub use sizing::{PodResources, SizingError};
pub use task::{
    Accelerator, JobRecovery, Memory, RecoveryStrategy, Task, TaskError, TaskResources,
};
