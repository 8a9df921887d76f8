//! Jobs of every kind: turns them into Workloads, starts them when admitted and stops them when
//! evicted.

use super::Shared;

/// Starts the job controllers.
pub fn start(shared: &Shared) {
    let _ = shared;
}
