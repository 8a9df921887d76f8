//! The queues: workloads waiting for quota, by LocalQueue and ClusterQueue.
//!
//! Must not know of quota or flavors.

mod alike;
mod heap;
mod manager;
mod pending;
mod reason;
mod second_pass;
mod waiting;

pub use manager::{FlushTarget, Head, LocalQueueState, QueueError, Queues};
pub use pending::{OrderContext, Pending, backoff_expired};
pub use reason::{QuotaReservedReason, RequeueReason};
pub use second_pass::SecondPass;
