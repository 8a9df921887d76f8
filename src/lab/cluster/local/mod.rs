//! Local clusters in containers, created with kind or k3d.
//!
//! A cluster is deleted only if the lab created it: the ids of its containers are recorded
//! ([`cluster_record`]). The record also detects an interrupted creation, which is started anew.

mod cluster_record;
mod cluster_tool;
mod container_engine;
mod error;
mod host_access;
mod kubeconfig;
mod lifecycle;
mod program;

pub use cluster_tool::{ClusterTool, NAME};
pub use error::LocalClusterError;
pub use host_access::HostAccess;
pub use lifecycle::{DeleteOutcome, LocalCluster, Progress, down, has_record, up};
