//! Go's `time.ParseDuration`.

use crate::ParseDurationError;
use crate::duration::SECOND;

const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];

/// The absolute value of the minimum duration, which has no positive counterpart.
const LIMIT: u64 = 1 << 63;

/// The nanoseconds of a duration.
pub(crate) fn parse(text: &str) -> Result<i64, ParseDurationError> {
    let invalid = || ParseDurationError::Invalid(text.to_owned());
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split_digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        if unit.is_empty() {
            return Err(ParseDurationError::MissingUnit(text.to_owned()));
        }
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(ParseDurationError::UnknownUnit {
                unit: unit.to_owned(),
                text: text.to_owned(),
            });
        };
        let part = nanoseconds(whole, fraction, scale.unsigned_abs()).ok_or_else(invalid)?;
        total = total
            .checked_add(part)
            .filter(|total| *total <= LIMIT)
            .ok_or_else(invalid)?;
        rest = after;
    }
    if negative {
        return Ok(0i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).map_err(|_| invalid())
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// The fraction is computed in floating point, as Go does it.
fn nanoseconds(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= LIMIT)?;
    let (numerator, scale) = leading_fraction(fraction);
    if numerator > 0 {
        nanos += (numerator as f64 * (unit as f64 / scale)) as u64;
    }
    Some(nanos).filter(|nanos| *nanos <= LIMIT)
}

/// Go's `leadingFraction`: digits that do not fit are ignored.
fn leading_fraction(digits: &str) -> (u64, f64) {
    let (mut numerator, mut scale) = (0u64, 1.0);
    for digit in digits.bytes() {
        let next = numerator
            .checked_mul(10)
            .and_then(|n| n.checked_add(u64::from(digit - b'0')));
        match next.filter(|n| numerator <= (LIMIT - 1) / 10 && *n <= LIMIT) {
            Some(next) => numerator = next,
            None => break,
        }
        scale *= 10.0;
    }
    (numerator, scale)
}
