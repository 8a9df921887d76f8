//! Whether workloads would be admitted to a cluster now, and the changes that admit them.
//!
//! All answers come from copies of an engine with the state of the cluster: the workloads are added, and
//! scheduling cycles run until nothing changes.

mod admitting_change;
mod admitting_changes;
mod changed_state;
mod explained_workload;
mod finish_search;
mod live_versions;
mod object_quota;
mod preempted_workload;
mod priority_search;
mod quota_raise;
mod quota_search;
#[cfg(test)]
mod search_tests;
mod setting_search;
#[cfg(test)]
mod setting_tests;
mod settle;
#[cfg(test)]
mod settling_tests;
mod simulation;
#[cfg(test)]
mod test_fixtures;
#[cfg(test)]
mod tests;
mod verified_change;

pub use admitting_change::{
    AdmittingChange, PriorityClass, QuotaIncrease, StoppedQueue, TopologyRequestMode,
};
pub use admitting_changes::{AdmittingChanges, admitting_changes};
pub use explained_workload::{ExplainedWorkload, explain_workload};
pub use live_versions::{live_versions, workload_of_other_job};
pub use preempted_workload::PreemptedWorkload;
pub use settle::RepeatedPreemption;
pub(crate) use settle::{REPETITIONS, settle_round};
pub use simulation::{SimulatedWorkload, Simulation, simulate};
pub use verified_change::VerifiedChange;
