//! Whether workloads would be admitted to a cluster now, and the changes that admit them.
//!
//! All answers come from copies of an engine with the state of the cluster: the workloads are added, and
//! scheduling cycles run until nothing changes.

mod admitting_changes;
mod changed_state;
mod quota_place;
mod settle;
#[cfg(test)]
mod settling_tests;
mod simulation;
#[cfg(test)]
mod tests;

pub use admitting_changes::admitting_changes;
pub use changed_state::{AdmittingChange, QuotaIncrease};
pub(crate) use settle::settle_round;
pub use simulation::{PreemptedWorkload, SimulatedWorkload, Simulation, simulate};
