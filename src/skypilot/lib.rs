//! SkyPilot as the cluster sees it: task YAML to the Pods SkyPilot submits, and the managed-job loop
//! that notices a preemption and resubmits. Reaches the cluster only through a `kube::Client`.
//!
//! The behaviour is that of SkyPilot 0.14.1. What a task says of `setup`, `run`, files and
//! environment never reaches a Pod there (it arrives later by exec), so here it only decides how
//! long the job runs and how it ends. Knows `api`, `clock`, `entropy` and `yaml`; never the
//! controller, the machines or the API server.

mod config;
mod env;
mod gpus;

pub mod jobs;
mod launch;
mod naming;
mod pod;
mod run;
mod sizing;
mod support;
mod task;

pub use config::{QueueSettings, SkyConfig};
pub use env::SkyEnv;
pub use gpus::{GpuLabel, NodeFacts};
pub use launch::{Cluster, LaunchError, plan};
pub use naming::{cluster_name_on_cloud, managed_cluster_name};
pub use run::Run;
pub use sizing::{Request, SizingError};
pub use task::{Accelerator, Ask, Memory, Recovery, Strategy, Task, TaskError};
