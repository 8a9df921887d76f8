//! Values of fields: times, durations and amounts.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::error::RecordError;

/// The largest time in seconds that a trace may have, in the year 9000.
const MAX_SECONDS: f64 = 221_845_392_000.0;
/// The largest number of pods of a job.
const MAX_PODS: f64 = 1_000_000.0;

/// Whether a value is missing: empty, or as data tools write it.
pub(super) fn is_missing(value: &str) -> bool {
    let value = value.trim();
    value.is_empty() || ["nan", "none", "null", "na", "n/a"].contains(&&*value.to_lowercase())
}

/// A number.
pub(super) fn number(field: &str, value: &str) -> Result<f64, RecordError> {
    if is_missing(value) {
        return Err(RecordError::missing(format!("{field} is missing")));
    }
    let parsed = value.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    parsed.ok_or_else(|| RecordError::invalid(format!("{field} {value:?} is not a number")))
}

/// A number that is not negative; zero if it is missing.
pub(super) fn amount(field: &str, value: &str) -> Result<f64, RecordError> {
    if is_missing(value) {
        return Ok(0.0);
    }
    let parsed = number(field, value)?;
    match parsed < 0.0 {
        true => Err(RecordError::invalid(format!("{field} {value} is negative"))),
        false => Ok(parsed),
    }
}

/// A number of pods.
pub(super) fn pods(field: &str, value: &str) -> Result<i32, RecordError> {
    let count = number(field, value)?;
    match count.fract() == 0.0 && (1.0..=MAX_PODS).contains(&count) {
        true => Ok(count as i32),
        false => Err(RecordError::invalid(format!(
            "{field} {value:?} is not a number of pods"
        ))),
    }
}

/// A time: seconds, RFC 3339, or `YYYY-MM-DD HH:MM:SS` in UTC.
pub(super) fn time(field: &str, value: &str) -> Result<Timestamp, RecordError> {
    let value = value.trim();
    if is_missing(value) {
        return Err(RecordError::missing(format!("{field} is missing")));
    }
    let invalid = || {
        RecordError::invalid(format!(
            "{field} {value:?} is not a time; use seconds, RFC 3339 or YYYY-MM-DD HH:MM:SS"
        ))
    };
    if let Ok(seconds) = value.parse::<f64>() {
        let in_range = seconds.is_finite() && seconds.abs() <= MAX_SECONDS;
        let millis = in_range.then_some((seconds * 1_000.0).round() as i64);
        let parsed = millis.and_then(|millis| Timestamp::from_millisecond(millis).ok());
        return parsed.ok_or_else(invalid);
    }
    if let Ok(time) = value.parse::<Timestamp>() {
        return Ok(time);
    }
    let civil: DateTime = value.parse().map_err(|_| invalid())?;
    let zoned = civil.to_zoned(TimeZone::UTC).map_err(|_| invalid())?;
    Ok(zoned.timestamp())
}

/// A duration: seconds, or with units such as `1h30m`.
pub(super) fn duration(field: &str, value: &str) -> Result<SignedDuration, RecordError> {
    let value = value.trim();
    if is_missing(value) {
        return Err(RecordError::missing(format!("{field} is missing")));
    }
    let parsed = match value.parse::<f64>() {
        Ok(seconds) => SignedDuration::try_from_secs_f64(seconds).ok(),
        Err(_) => value.parse::<SignedDuration>().ok(),
    };
    let longest = SignedDuration::from_secs(MAX_SECONDS as i64);
    match parsed {
        Some(parsed) if parsed < SignedDuration::ZERO => {
            Err(RecordError::invalid(format!("{field} {value} is negative")))
        }
        Some(parsed) if parsed <= longest => Ok(parsed),
        _ => Err(RecordError::invalid(format!(
            "{field} {value:?} is not a duration; use seconds or units, such as 1h30m"
        ))),
    }
}

/// The time between two times, which must not go back.
pub(super) fn between(
    (from_field, from): (&str, Timestamp),
    (to_field, to): (&str, Timestamp),
) -> Result<SignedDuration, RecordError> {
    match to < from {
        true => Err(RecordError::invalid(format!(
            "{to_field} {to} is before {from_field} {from}"
        ))),
        false => Ok(to.duration_since(from)),
    }
}

/// A whole number as a quantity, rounded up; none for zero.
pub(super) fn whole_quantity(amount: f64) -> Option<String> {
    (amount > 0.0).then(|| format!("{}", amount.ceil() as i64))
}

/// A number of CPUs as a quantity, rounded up to milli-units; none for zero.
pub(super) fn cpu_quantity(cpus: f64) -> Option<String> {
    (cpus > 0.0).then(|| format!("{}m", (cpus * 1_000.0).ceil() as i64))
}
