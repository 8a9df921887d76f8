//! Changes of a Workload's status: conditions, admission, evictions, finish.
//!
//! A decision contains a [`StatusChange`]; the caller applies it to the latest version of the
//! object and patches the difference. Must not know why a change is made.

mod conditions;
mod eviction;
mod quota_reservation;
mod status_change;

pub use conditions::{condition, set_condition};
pub use eviction::{Eviction, evict, finish};
pub(crate) use quota_reservation::admission_checks_for_admission;
pub use quota_reservation::{
    admission_checks_for_workload, propagate_resource_requests, release_evicted, resource_requests,
    set_quota_reservation, sync_admitted_condition, unset_quota_reservation,
};
pub use status_change::StatusChange;
