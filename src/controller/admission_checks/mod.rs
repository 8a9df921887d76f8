//! Admission checks that this controller judges itself. Checks of other controllers are judged by
//! whoever writes their state into the Workload.

pub mod provisioning;

use super::ControllerContext;

/// Starts the controllers of checks.
pub fn start(shared: &ControllerContext) {
    provisioning::start(shared);
}
