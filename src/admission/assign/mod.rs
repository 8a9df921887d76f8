//! Flavor assignment: which flavors a workload could get, and how.
//!
//! Must not know of queues or of the order of workloads; preemption is asked through
//! [`PreemptionOracle`].

mod assigner;
mod assignment;
mod attempts;
mod eligibility;
mod mode;
mod reducer;
mod search;
mod told;
mod topology;

pub use assigner::{Assigner, PreemptionOracle};
pub use assignment::{Assignment, FlavorAssignment, NominationMapping, PodSetAssignment, Status};
pub use attempts::FlavorAttempt;
pub use mode::{GranularMode, Mode, Possibility, PreemptionMode};
pub use reducer::search as search_counts;
pub use told::{Mismatch, ResourceAttempt};
pub use topology::{TopologyRequestError, is_tas_implied, is_tas_requested};
