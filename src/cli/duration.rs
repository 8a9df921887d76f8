//! Durations of arguments.

use jiff::SignedDuration;

/// A text that is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a duration has units, such as 30s or 1h30m")]
pub(super) struct ParseDurationError;

/// Reads `30s` or `1h30m`.
pub(super) fn parse(text: &str) -> Result<SignedDuration, ParseDurationError> {
    let parsed = text.parse::<SignedDuration>().ok();
    parsed
        .filter(|duration| *duration >= SignedDuration::ZERO)
        .ok_or(ParseDurationError)
}
