//! Changes to the status of a Workload, as the engine decides them: conditions, admission,
//! evictions, the end.
//!
//! A decision gives a [`StatusChange`]; whoever writes to the cluster applies it to the newest
//! version of the object and patches what came out. Must not know why a change is made.

mod change;
mod conditions;
mod eviction;
mod reservation;

pub use change::StatusChange;
pub use conditions::{condition, set_condition};
pub use eviction::{Eviction, evict, finish, set_preempted};
pub use reservation::{
    checks_for, has_all_required_checks, propagate_resource_requests, required_checks,
    reserve_quota, resource_requests, set_blocked_on_preemption_gates, sync_admitted,
    unreserve_quota,
};
