//! A scheduling cycle: nominates the heads of the queues, and decides in order which are admitted.
//! Upstream's `pkg/scheduler`.
//!
//! Works on a snapshot; its decisions are data. Must not depend on the queues.

mod action;
mod admit;
mod assignments;
mod decided_cycle;
mod decision;
mod entry;
mod entry_comparer;
mod entry_ordering;
mod fair_sharing_iterator;
mod issue_preemptions;
mod nominate;
mod preempted_workloads;
mod preemption_expectations;
mod process_entry;
mod recorded_candidates;
mod scheduling_cycle;
mod variant_migration;
mod wait_for_pods_ready;

pub use action::{Action, ActionKind, ActionOutcome, Preemptor};
pub use decided_cycle::DecidedCycle;
pub use decision::{
    CandidateDecision, Decision, FlavorChoice, PodSetDecision, TopologyFailureDecision,
    VictimDecision,
};
pub use entry::{Entry, EntryStatus};
pub use entry_comparer::{FairSharingEntry, entry_less};
pub use entry_ordering::sort_entries;
pub use preemption_expectations::PreemptionExpectations;
pub use process_entry::quota_resources_to_reserve;
pub use recorded_candidates::RecordedCandidates;
pub use scheduling_cycle::{CycleCounts, CycleProgress, RecomputationResult, SchedulingCycle};
