//! Detects loops of scheduling attempts that do not settle: workloads that preempt each other, and
//! a Workload whose message alternates.
//!
//! Used by the controller for its log, by `explain` and by the UI. Preemptions and messages are
//! recorded one by one, or taken from Events.

mod alternating_messages;
mod detector;
mod event;
mod preemptions;
mod scheduling_loop;

pub use detector::LoopDetector;
pub use event::{WorkloadEvent, loops_in_events};
pub use scheduling_loop::{LoopKind, SchedulingLoop};
