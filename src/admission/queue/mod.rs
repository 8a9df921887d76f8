//! The queues: pending workloads by LocalQueue and ClusterQueue. Upstream's `pkg/cache/queue`.
//!
//! Must not know of quota or flavors.

mod cluster_queue;
mod equivalence_class;
mod inadmissible_workloads;
mod local_queue;
mod manager;
mod pending_workloads;
mod requeue_reason;
mod retry_tree;
mod second_pass_queue;
mod unfit_classes;

pub use cluster_queue::{OrderContext, PendingClusterQueue, backoff_expired};
pub use inadmissible_workloads::RequeueRequest;
pub use local_queue::PendingLocalQueue;
pub use manager::{Head, QueueError, QueueManager};
pub use requeue_reason::{QuotaReservedReason, RequeueReason};
pub use second_pass_queue::SecondPassQueue;
