//! Detects loops of scheduling attempts that do not settle: workloads that preempt each other, and
//! a Workload whose message alternates.
//!
//! Used by the controller for its log, by `explain` and by the UI. Must not depend on where the
//! data comes from.

mod alternating_messages;
mod detector;
mod preemptions;
mod scheduling_loop;

pub use detector::LoopDetector;
pub use scheduling_loop::{LoopKind, SchedulingLoop};
