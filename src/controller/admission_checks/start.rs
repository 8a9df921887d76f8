//! Starts the controllers of admission checks.

use super::{multi_kueue, provisioning};
use crate::ControllerContext;

/// Starts the controllers of admission checks.
pub(crate) fn start(shared: &ControllerContext) {
    multi_kueue::start(shared);
    provisioning::start(shared);
}
