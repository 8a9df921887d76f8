//! The controllers of Kueue's own kinds, one file each: they write status, conditions and
//! finalizers from the state of the engine.

mod active_condition;
mod cluster_queue_controller;
mod cohort_controller;
mod finalizer;
mod local_queue_controller;
mod resource_in_use_finalizer;
pub(crate) mod workload;
mod workload_priority_class_controller;

use super::ControllerContext;

/// Batch period for changes of objects that enqueue a queue.
pub(crate) const UPDATES_BATCH_PERIOD: std::time::Duration = std::time::Duration::from_secs(1);

/// Starts the controllers. The informers have to be synced.
pub(crate) fn start(shared: &ControllerContext) {
    resource_in_use_finalizer::start(shared);
    workload_priority_class_controller::start(shared);
    local_queue_controller::start(shared);
    cohort_controller::start(shared);
    cluster_queue_controller::start(shared);
    workload::start(shared);
}
