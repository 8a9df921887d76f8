//! The controllers of Kueue's own objects: they keep statuses, conditions and finalizers in step
//! with the engine. One file per kind.

mod cluster_queue;
mod cohort;
mod in_use;
mod local_queue;
mod priority_class;
mod topology;
pub mod workload;
pub(super) mod write;

use super::Shared;
use kueue_lab_api::config::Feature;

/// Changes of many objects that concern one queue are gathered this long.
const BATCH: std::time::Duration = std::time::Duration::from_secs(1);

/// Starts the controllers. The informers have to be in sync.
pub fn start(shared: &Shared) {
    in_use::start(shared);
    priority_class::start(shared);
    local_queue::start(shared);
    cohort::start(shared);
    cluster_queue::start(shared);
    workload::start(shared);
    if shared.settings.enabled(Feature::TopologyAwareScheduling) {
        topology::start(shared);
    }
}
