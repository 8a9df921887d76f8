//! Workloads: total requests, queue order, conditions. Upstream's `pkg/workload`.
//!
//! Must not depend on ClusterQueues, quota or flavors beyond their names.

mod adjust_resources;
mod assignment_state;
mod equivalence_hash;
mod info;
mod key;
pub mod ordering;
pub mod predicates;
mod spec_changes;
pub mod total_requests;
mod usage;
pub mod validate_admissibility;

pub use adjust_resources::adjust_resources;
pub use assignment_state::AssignmentClusterQueueState;
pub use equivalence_hash::EquivalenceHash;
pub use info::Info;
pub use key::{LocalQueueKey, WorkloadKey};
pub use ordering::QueueOrderKey;
pub use spec_changes::{is_priority_changed, is_scaled_down};
pub use total_requests::{DraRequests, PodSetResources, TopologyRequest};
pub use usage::{TasUsage, TopologyDomainRequests, Usage};
