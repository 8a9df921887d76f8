//! Events and the texts of conditions and Events that decisions come to.
//!
//! Every text is made here, from the data of the decision. Must not know how decisions are made.

mod event;
mod preemption;
mod truncate;

pub use event::{Event, EventType, admitted, quota_reserved, slice_replaced, unadmitted};
pub use preemption::{PreemptionMessages, migration};
pub use truncate::{truncate_condition, truncate_event};

/// Of a Workload some of whose pods are not ready, in its PodsReady condition.
pub const PODS_NOT_READY: &str = "Not all pods are ready or succeeded";
