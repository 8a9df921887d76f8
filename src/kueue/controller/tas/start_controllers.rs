//! Starts the controllers of topology-aware scheduling.

use super::{node_failure_controller, topology_ungater};
use crate::ControllerContext;
use kueue_lab_api::config::Feature;

/// Starts the controllers. The informers have to be synced.
pub(crate) fn start(shared: &ControllerContext) {
    if shared.settings.enabled(Feature::TASFailedNodeReplacement) {
        node_failure_controller::start(shared);
    }
    topology_ungater::start(shared);
}
