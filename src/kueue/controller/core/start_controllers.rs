//! Starts the controllers of Kueue's own kinds.

use super::{
    admission_check_controller, cluster_queue_controller, cohort_controller,
    local_queue_controller, resource_flavor_controller, topology_controller, workload,
    workload_priority_class_controller,
};
use crate::ControllerContext;

/// Starts the controllers. The informers have to be synced.
pub(crate) fn start(shared: &ControllerContext) {
    resource_flavor_controller::start(shared);
    admission_check_controller::start(shared);
    topology_controller::start(shared);
    workload_priority_class_controller::start(shared);
    local_queue_controller::start(shared);
    cohort_controller::start(shared);
    cluster_queue_controller::start(shared);
    workload::start(shared);
}
