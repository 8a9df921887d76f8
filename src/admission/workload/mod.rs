//! Workloads as the engine sees them: totals of requests, order, and what their conditions say.
//!
//! Must not know of ClusterQueues, quota or flavors beyond their names.

mod adjust;
mod hash;
mod info;
mod key;
pub mod ordering;
pub mod predicates;
mod progress;
pub mod totals;
pub mod validate;

pub use adjust::adjust_resources;
pub use hash::EquivalenceHash;
pub use info::Info;
pub use key::{LocalQueueKey, WorkloadKey};
pub use ordering::Rank;
pub use progress::AssignmentState;
pub use totals::{DraRequests, PodSetResources, TopologyRequest};
