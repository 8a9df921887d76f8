//! The Workload controller: requeue backoff, admission checks, deactivation, stopped queues,
//! PodsReady timeout, maximum execution time and retention.
//!
//! One reconciliation makes the first change that is due; its write triggers the next one.

mod admission_checks;
mod admission_gated_by;
mod concurrent_admission;
mod deactivation;
mod dra;
mod evict;
mod maximum_execution_time;
mod orphaned_workload;
mod pods_ready_timeout;
mod preemption_gates;
mod queue_active_state;
mod requeue_backoff;
mod retention;
mod unadmitted_conditions;
mod workload_controller;
mod workload_queues;

pub(crate) use evict::evict;
pub(super) use workload_controller::start;
