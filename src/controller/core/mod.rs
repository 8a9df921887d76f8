//! The controllers of Kueue's own objects: they keep statuses, conditions and finalizers in step
//! with the engine. One file per kind.

mod cluster_queue_controller;
mod cohort_controller;
mod finalizer;
mod local_queue_controller;
mod resource_in_use_finalizer;
pub(super) mod update;
pub mod workload;
mod workload_priority_class_controller;

use super::ControllerContext;

/// Changes of many objects that concern one queue are gathered this long.
pub(crate) const UPDATES_BATCH_PERIOD: std::time::Duration = std::time::Duration::from_secs(1);

/// Starts the controllers. The informers have to be in sync.
pub fn start(shared: &ControllerContext) {
    resource_in_use_finalizer::start(shared);
    workload_priority_class_controller::start(shared);
    local_queue_controller::start(shared);
    cohort_controller::start(shared);
    cluster_queue_controller::start(shared);
    workload::start(shared);
}
