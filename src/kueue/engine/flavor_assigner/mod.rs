//! Flavor assignment: the flavors of a workload's pod sets, with their modes. Upstream's
//! `pkg/scheduler/flavorassigner`.
//!
//! Must not depend on queues or of the order of workloads; preemption is simulated through
//! [`PreemptionOracle`].

mod assigner;
mod assignment;
mod find_flavor;
mod fits_resource_quota;
mod flavor_attempts;
mod flavor_eligibility;
mod flavor_fungibility;
mod granular_mode;
mod pod_set_reducer;
mod resource_attempt;
mod tas_flavor_assigner;

pub use assigner::{FlavorAssigner, PreemptionOracle};
pub use assignment::{
    Assignment, AssignmentStatus, FlavorAssignment, NominationMapping, PodSetAssignment,
};
pub use flavor_attempts::FlavorAssignmentAttempt;
pub use granular_mode::{
    FlavorAssignmentMode, GranularMode, PreemptionMode, PreemptionPossibility,
};
pub use pod_set_reducer::search_counts;
pub use resource_attempt::{FlavorMismatch, ResourceAttempt};
