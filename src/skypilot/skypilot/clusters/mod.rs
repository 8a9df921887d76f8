//! Clusters of `sky launch`. Their state is that of their Pods and Services; there are no records elsewhere.

mod cluster;
mod cluster_client;
mod cluster_jobs;
mod job_programs;
mod launch_progress;
mod remote_command;
mod sky_clusters;
mod status_table;

pub use cluster::{Cluster, ClusterStatus};
pub(crate) use cluster_client::{ClusterClient, PodExt, ProvisionError, nodes};
pub(crate) use launch_progress::{LaunchProgress, LaunchState};
pub use remote_command::ExecError;
pub use sky_clusters::{ClusterError, SkyClusters};
pub use status_table::status_table;
