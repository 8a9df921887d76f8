//! Workloads: everything that happens to one apart from scheduling. Backoff and requeueing, checks,
//! deactivation, stopped queues, waiting for pods, time limits, retention.
//!
//! One look at a Workload does the first thing that is due; what it writes makes it look again.

mod admission_checks;
mod admission_gated_by;
mod concurrent_admission;
mod deactivation;
mod dra;
mod evict;
mod queue_active_state;
mod requeue_backoff;
mod retention;
mod time_limits;
mod unadmitted_conditions;
mod workload_controller;
mod workload_queues;

pub(crate) use evict::evict;
pub(super) use workload_controller::start;
