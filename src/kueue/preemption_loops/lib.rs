//! Detects loops of scheduling attempts that do not settle: workloads that preempt each other, and
//! a Workload whose message alternates.
//!
//! Used by the controller for its log, by `explain` and by the UI. Preemptions and messages are
//! recorded one by one, or taken from Events.

mod alternating_messages;
mod detected_loop;
mod detector;
mod event;
mod preemptions;

pub use detected_loop::{DetectedLoop, LoopKind};
pub use detector::LoopDetector;
pub use event::{WorkloadEvent, loops_in_events};
