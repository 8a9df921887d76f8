//! Topology-aware scheduling outside the scheduler: the topology ungater and the node failure
//! controller.

mod assign_pods_to_domains;
mod node_failure_controller;
mod pods;
mod topology_ungater;

use crate::ControllerContext;
use kueue_lab_api::config::Feature;

/// Starts the controllers. The informers have to be synced.
pub(super) fn start(shared: &ControllerContext) {
    if shared.settings.enabled(Feature::TASFailedNodeReplacement) {
        node_failure_controller::start(shared);
    }
    topology_ungater::start(shared);
}
