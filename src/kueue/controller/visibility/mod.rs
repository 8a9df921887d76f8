//! The storage of the visibility API (`visibility.kueue.x-k8s.io`): pending workloads of a
//! ClusterQueue or LocalQueue with their positions. The server that handles requests is outside of
//! this crate.

mod pending_workloads;
mod types;

pub use pending_workloads::{
    bounded_limit_offset, pending_workloads_in_cluster_queue, pending_workloads_in_local_queue,
};
pub use types::{GROUP, PendingWorkload, PendingWorkloadsSummary, VERSIONS};
