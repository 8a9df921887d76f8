//! Preemption: whom a workload would evict to get quota, by priority or by fair share.
//!
//! Only searches; evicting is for others. Must not know of queues.

mod candidates;
mod classical;
mod fair;
mod fair_order;
mod oracle;
mod policy;
mod search;
mod target;

pub use candidates::{Candidate, sort as sort_candidates};
pub use oracle::Oracle;
pub use policy::allows;
pub use search::Search;
pub use target::{Considered, Fate, Ground, PreemptionReason, SharesCompared, Target, Victims};
