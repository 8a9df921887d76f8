//! Changes of a Workload's status: conditions, admission, evictions, finish.
//!
//! A decision contains a [`StatusChange`]; the caller applies it to the latest version of the
//! object and patches the difference. Must not know why a change is made.

mod conditions;
mod eviction;
mod quota_reservation;
mod status_change;

pub use conditions::{condition, set_condition};
pub use eviction::{Eviction, evict, finish, set_preempted};
pub use quota_reservation::{
    admission_checks_for_admission, admission_checks_for_workload, has_all_required_checks,
    propagate_resource_requests, resource_requests, set_blocked_on_preemption_gates,
    set_quota_reservation, sync_admitted_condition, unset_quota_reservation,
};
pub use status_change::StatusChange;
