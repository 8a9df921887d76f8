//! A scheduling cycle: takes the heads of the queues, finds flavors and victims for each, and
//! decides in order which get quota.
//!
//! Works on a snapshot only; what it decides comes out as data. Must not know of the queues
//! themselves.

mod action;
mod assignments;
mod decision;
mod effects;
mod entry;
mod expectations;
mod nominate;
mod open;
mod order;
mod preempted;
mod process;
mod run;

pub use action::{Action, ActionKind, Outcome};
pub use decision::{CandidateDecision, Decision, FlavorChoice, PodSetDecision, VictimDecision};
pub use entry::{Entry, EntryStatus};
pub use expectations::Expectations;
pub use open::OpenCycle;
pub use order::sort as sort_entries;
pub use process::quota_to_reserve;
pub use run::{Counts, Progress, Recomputation, Run};
