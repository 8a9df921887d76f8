//! [`Engine`]: object events are its input, scheduling decisions its output.
//!
//! The engine keeps the cache, the queues and the latest version of every object. Each object event
//! is one [`ObjectChange`], a scheduling cycle is a call. It never blocks: delayed work is a deadline that
//! [`Engine::next_deadline`] returns and [`Engine::advance`] handles.

mod afs;
mod apply;
mod dra;
mod exhausted_limits;
mod explain;
mod explain_cluster_queue;
mod flavor_events;
mod inadmissible_state;
mod limit_range_events;
mod metric_queries;
mod namespace_events;
mod next_cycle_heads;
mod node_events;
mod object_change;
mod object_store;
mod pending_verdict;
mod pending_workloads;
mod queries;
mod queue_events;
mod quota_limits;
mod quota_reserved_condition;
mod quota_shortfalls;
mod quota_slots;
mod schedule;
mod skipped_cycles;
mod state;
#[cfg(test)]
mod test_fixtures;
mod timers;
mod workload_events;

pub use afs::ConsumedUsage;
pub use exhausted_limits::ExhaustedLimit;
pub use explain::{Explanation, PendingOrder};
pub use explain_cluster_queue::{
    Borrower, ClusterQueueExplanation, CohortCycle, CohortQuota, ExplainedQuota, PendingInQueue,
    QuotaHolder,
};
pub use kueue_lab_reason::{PendingVerdict, PendingVerdictKind, QuotaField};
pub use metric_queries::PendingBreakdown;
pub use object_change::{DeletedObject, EngineObject, ObjectChange};
pub use pending_workloads::{PendingCounts, PendingPosition, PendingState};
pub use quota_reserved_condition::QueueInadmissibleReason;
pub use schedule::CycleResult;
pub use skipped_cycles::NextCycle;
pub use state::Engine;
use state::{AssumedWorkload, order_context};
