//! Truncation of messages to the limits of API fields.

/// The maximum length of the `note` of an Event of `events.k8s.io`, in bytes.
pub const NOTE_MAX: usize = 1024;

/// Shortens a message to `limit` bytes, with ` ...` at the end, as kube-scheduler and Kueue do.
pub fn truncate_message(mut message: String, limit: usize) -> String {
    const SUFFIX: &str = " ...";
    if message.len() > limit {
        message.truncate(message.floor_char_boundary(limit.saturating_sub(SUFFIX.len())));
        message.push_str(SUFFIX);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_shortened_at_a_character() {
        let truncated = |message: String| truncate_message(message, NOTE_MAX);
        assert_eq!(truncated("é".repeat(512)), "é".repeat(512));
        let shortened = truncated(format!("{}é", "a".repeat(1023)));
        assert_eq!(shortened, format!("{} ...", "a".repeat(1020)));
        let shortened = truncated(format!("a{}", "é".repeat(512)));
        assert_eq!(shortened, format!("a{} ...", "é".repeat(509)));
    }
}
