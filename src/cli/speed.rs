//! `--speed`: lab seconds per second.

use kueue_lab_clock::SPEED_RANGE;

/// A text that is not a speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a speed is a number of lab seconds per second, from {} to {}",
    SPEED_RANGE.start(),
    SPEED_RANGE.end()
)]
pub(super) struct ParseSpeedError;

/// Parses a speed such as `10`, `10x` or `0.5`.
///
/// # Errors
/// It is not a number, or out of range.
pub(super) fn parse(text: &str) -> Result<f64, ParseSpeedError> {
    let number = text.strip_suffix(['x', 'X']).unwrap_or(text);
    match number.parse::<f64>() {
        Ok(speed) if SPEED_RANGE.contains(&speed) => Ok(speed),
        _ => Err(ParseSpeedError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_parsed() {
        assert_eq!(parse("10x"), Ok(10.0));
        assert_eq!(parse("0.5"), Ok(0.5));
        for bad in ["0", "-1", "fast", "NaN", "inf", "1e9", ""] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
