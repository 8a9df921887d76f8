//! Admission checks of controllers in this crate. The states of all other checks are written by the
//! controllers named in the AdmissionCheck.

mod provisioning;

use super::ControllerContext;

/// Starts the admission check controllers.
pub(crate) fn start(shared: &ControllerContext) {
    provisioning::start(shared);
}
