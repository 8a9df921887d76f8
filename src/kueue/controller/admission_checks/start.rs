//! Starts the controllers of admission checks.

use super::{multikueue, provisioning};
use crate::ControllerContext;

/// Starts the controllers of admission checks.
pub(crate) fn start(shared: &ControllerContext) {
    multikueue::start(shared);
    provisioning::start(shared);
}
