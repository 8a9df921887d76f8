//! The model: rows from watches, and data derived from them. Pure: no terminal, no client. All text
//! is sanitized.

mod cluster_data;
pub(crate) mod cohort_tree;
pub(crate) mod condition;
pub(crate) mod derived;
pub(crate) mod devices;
pub(crate) mod event;
pub(crate) mod evictions;
pub mod import;
mod kind;
mod loops;
pub(crate) mod managed_job;
mod managed_job_ref;
pub(crate) mod meta;
pub(crate) mod node;
mod object_ref;
pub(crate) mod pod;
pub(crate) mod queues;
mod sky_pilot_cluster;
mod store;
pub(crate) mod watch_status;
mod watch_update;
pub(crate) mod workload;

#[cfg(test)]
mod explain_tests;
#[cfg(test)]
mod reference_tests;

pub(crate) use cluster_data::ClusterData;
pub use kind::Kind;
pub use kueue_lab_controller_runtime::ObjectKey;
pub(crate) use managed_job_ref::ManagedJobRef;
pub use object_ref::ObjectRef;
pub(crate) use sky_pilot_cluster::SKYPILOT_CLUSTER_LABEL;
pub use sky_pilot_cluster::SkyPilotCluster;
pub use store::Delta;
pub(crate) use store::{Row, Store};
pub use watch_update::WatchUpdate;
