//! Length limits of condition and Event messages.

use kueue_lab_component_helpers::truncate::{NOTE_MAX, truncate_message};

/// The maximum length of a condition message, in bytes.
const CONDITION_LIMIT: usize = 32 * 1024;

/// A message truncated to the limit of conditions.
pub fn truncate_condition(message: String) -> String {
    truncate_message(message, CONDITION_LIMIT)
}

/// A message truncated to the limit of Events.
pub fn truncate_event(message: String) -> String {
    truncate_message(message, NOTE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_truncated_at_a_character_boundary() {
        assert_eq!(truncate_event("short".to_owned()), "short");
        let long = truncate_event("ä".repeat(600));
        assert!(long.len() <= 1024 && long.ends_with(" ..."));
    }
}
