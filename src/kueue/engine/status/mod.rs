//! Changes of a Workload's status: conditions, admission, evictions, finish.
//!
//! A decision contains a [`StatusChange`]; the caller applies it to the latest version of the
//! object and patches the difference. Must not depend on why a change is made.

mod admission_checks;
mod admitted_condition;
mod conditions;
mod eviction;
mod finish;
mod preemption_gate;
mod quota_reservation;
mod resource_requests;
mod status_change;

pub(crate) use admission_checks::admission_checks_for_admission;
pub use admission_checks::admission_checks_for_workload;
pub use admitted_condition::sync_admitted_condition;
pub use conditions::condition;
pub use eviction::{Eviction, evict};
pub use finish::finish;
pub use kueue_lab_api::conditions::set_condition;
pub use preemption_gate::open_preemption_gate;
pub use quota_reservation::{release_evicted, set_quota_reservation, unset_quota_reservation};
pub use resource_requests::{propagate_resource_requests, resource_requests};
pub use status_change::StatusChange;
