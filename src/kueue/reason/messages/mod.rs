//! The renderings of reasons: upstream's sentences with their parser, and the texts of verdicts and explanations.

mod candidates;
mod cursor;
mod cycle_head;
mod flavor;
mod inadmissible;
mod parse_flavor_reason;
mod parse_inadmissible_reason;
mod parse_tas_failure;
mod pending_text;
mod preemption_message;
mod quota_shortfall;
mod requeue_event;
#[cfg(test)]
mod round_trip_tests;

pub use candidates::candidates_text;
pub use pending_text::TextStyle;
pub use preemption_message::{MessagePriority, PreemptionMessage, preemptor_uid};
