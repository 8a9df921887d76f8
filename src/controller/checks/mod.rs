//! Admission checks that this controller judges itself.

use super::Shared;

/// Starts the controllers of checks.
pub fn start(shared: &Shared) {
    let _ = shared;
}
