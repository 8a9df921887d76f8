//! Starts the controllers of Kueue's own kinds.

use super::{
    cluster_queue_controller, cohort_controller, flavor_check_topology_controllers,
    local_queue_controller, workload, workload_priority_class_controller,
};
use crate::ControllerContext;

/// Starts the controllers. The informers have to be synced.
pub(crate) fn start(shared: &ControllerContext) {
    flavor_check_topology_controllers::start(shared);
    workload_priority_class_controller::start(shared);
    local_queue_controller::start(shared);
    cohort_controller::start(shared);
    cluster_queue_controller::start(shared);
    workload::start(shared);
}
