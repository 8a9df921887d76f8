//! The queues: pending workloads by LocalQueue and ClusterQueue. Upstream's `pkg/cache/queue`.
//!
//! Must not depend on quota or flavors.

mod cluster_queue;
mod equivalence_class;
mod equivalence_class_tree;
mod inadmissible_workloads;
mod local_queue;
mod manager;
mod no_fit_classes;
mod pending_workloads;
mod requeue_reason;
mod second_pass_queue;

pub use cluster_queue::{OrderContext, PendingClusterQueue, backoff_expired};
pub use inadmissible_workloads::RequeueRequest;
pub use local_queue::PendingLocalQueue;
pub use manager::{Head, QueueError, QueueManager};
pub use requeue_reason::{QuotaReservedReason, RequeueReason};
pub use second_pass_queue::SecondPassQueue;
