//! The renderings of reasons: upstream's sentences with their parser, and the texts of verdicts.

mod cursor;
mod cycle_head;
mod parse_flavor_reason;
mod parse_inadmissible_reason;
mod parse_tas_failure;
mod pending_text;
mod preemption_message;
mod render;
#[cfg(test)]
mod round_trip_tests;

pub use pending_text::TextStyle;
pub use preemption_message::{MessagePriority, PreemptionMessage, preemptor_uid};
