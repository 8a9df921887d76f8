//! Length limits of condition and Event messages.

/// The maximum length of a condition message, in bytes.
const CONDITION_LIMIT: usize = 32 * 1024;
/// The maximum length of an Event message, in bytes.
const EVENT_LIMIT: usize = 1024;

/// A message truncated to the limit of conditions.
pub fn truncate_condition(message: String) -> String {
    truncate(message, CONDITION_LIMIT)
}

/// A message truncated to the limit of Events.
pub fn truncate_event(message: String) -> String {
    truncate(message, EVENT_LIMIT)
}

fn truncate(mut message: String, limit: usize) -> String {
    const MARK: &str = " ...";
    if message.len() > limit {
        let mut end = limit - MARK.len();
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push_str(MARK);
    }
    message
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
