//! Durations in scenarios: `90s`, `2m`, `1m30s`, `500ms`, or plain seconds.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Expected, Unexpected, Visitor};

/// The longest duration of a scenario, in days: ten years.
const MAX_DAYS: f64 = 3650.0;
const MAX_SECONDS: f64 = MAX_DAYS * 86_400.0;

/// A time, as a regular expression of JSON schemas.
pub(super) const TIME_PATTERN: &str =
    r"([0-9]+(\.[0-9]*)?|\.[0-9]+)((ms|[smhd])([0-9]+(\.[0-9]*)?(ms|[smhd]))*)?";

/// An invalid time or amount of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InvalidAmount {
    /// The text is neither a time nor an amount.
    Syntax,
    /// It is longer than the maximum.
    TooLong,
}

impl InvalidAmount {
    /// The error of an unexpected text.
    pub(super) fn error<E: Error>(self, text: &str, expected: &dyn Expected) -> E {
        match self {
            Self::Syntax => E::invalid_value(Unexpected::Str(text), expected),
            Self::TooLong => E::custom(format_args!("a time is at most {MAX_DAYS}d")),
        }
    }
}

/// A length of lab time as written in a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScenarioDuration(pub(super) Duration);

impl ScenarioDuration {
    /// Reads a time such as `1m30s`.
    pub(super) fn parse(text: &str) -> Result<Duration, InvalidAmount> {
        parse(text)
    }
}

impl<'de> Deserialize<'de> for ScenarioDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = ScenarioDuration;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as 90s, 1m30s or 2h")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ScenarioDuration, E> {
                let time = parse(text).map_err(|invalid| invalid.error(text, &self))?;
                Ok(ScenarioDuration(time))
            }
            fn visit_u64<E: Error>(self, seconds: u64) -> Result<ScenarioDuration, E> {
                self.visit_str(&seconds.to_string())
            }
            fn visit_f64<E: Error>(self, seconds: f64) -> Result<ScenarioDuration, E> {
                self.visit_str(&seconds.to_string())
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for ScenarioDuration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": format!("A time of at most {MAX_DAYS}d, such as 90s, 1m30s or 2h"),
            "type": ["string", "number"],
            "minimum": 0,
            "maximum": MAX_SECONDS,
            "pattern": format!("^\\s*{TIME_PATTERN}\\s*$"),
        })
    }
}

fn parse(text: &str) -> Result<Duration, InvalidAmount> {
    let seconds = seconds(text).ok_or(InvalidAmount::Syntax)?;
    match seconds <= MAX_SECONDS {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(InvalidAmount::TooLong),
    }
}

fn seconds(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().ok()?;
        let unit_end = rest[end..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(rest.len(), |i| end + i);
        let factor = match &rest[end..unit_end] {
            "ms" => 0.001,
            "s" => 1.0,
            // Only a bare number of seconds may go without a unit.
            "" if rest.len() == text.trim().len() => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number * factor;
        rest = &rest[unit_end..];
    }
    Some(seconds)
}

/// `0s`, `7s`, `1m 30s`, `1h 0m 5s`: a length of lab time for people, in whole seconds from one second on.
pub(super) fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) if time.subsec_millis() > 0 => format!("{}ms", time.subsec_millis()),
        (0, 0, s) => format!("{s}s"),
        (0, m, 0) => format!("{m}m"),
        (0, m, s) => format!("{m}m {s}s"),
        (h, m, 0) => format!("{h}h {m}m"),
        (h, m, s) => format!("{h}h {m}m {s}s"),
    }
}

/// A length of lab time with its milliseconds, as it is compared.
pub(super) fn format_exact(time: Duration) -> String {
    let millis = time.subsec_millis();
    let whole = format_duration(Duration::from_secs(time.as_secs()));
    match (time.as_secs(), millis) {
        (_, 0) => whole,
        (0, millis) => format!("{millis}ms"),
        (seconds, millis) => {
            let last = format!("{}.{millis:03}s", seconds % 60);
            let last = last.trim_end_matches('s').trim_end_matches('0');
            match seconds / 60 {
                0 => format!("{last}s"),
                minutes => {
                    let rest = format_duration(Duration::from_secs(minutes * 60));
                    format!("{rest} {last}s")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_formatted() {
        for (text, seconds) in [
            ("90s", 90.0),
            ("2m", 120.0),
            ("1m30s", 90.0),
            ("500ms", 0.5),
            ("15", 15.0),
            ("1.5", 1.5),
            ("1h", 3600.0),
        ] {
            assert_eq!(parse(text).unwrap().as_secs_f64(), seconds, "{text}");
        }
        for text in ["", "soon", "1x", "-1s", "5 s x", "1m30"] {
            assert_eq!(parse(text), Err(InvalidAmount::Syntax), "{text}");
        }
        for text in ["3651d", "3650d1s", "1e30", "999999999999999999999d"] {
            let is_time = text != "1e30";
            let expected = if is_time {
                InvalidAmount::TooLong
            } else {
                InvalidAmount::Syntax
            };
            assert_eq!(parse(text), Err(expected), "{text}");
        }
        assert_eq!(parse("3650d").unwrap(), Duration::from_secs(315_360_000));
        assert_eq!(format_duration(Duration::from_secs(90)), "1m 30s");
        assert_eq!(format_duration(Duration::from_secs(7190)), "1h 59m 50s");
        for (millis, text) in [
            (58_000, "58s"),
            (58_250, "58.25s"),
            (250, "250ms"),
            (90_001, "1m 30.001s"),
            (60_500, "1m 0.5s"),
            (7_190_001, "1h 59m 50.001s"),
        ] {
            assert_eq!(format_exact(Duration::from_millis(millis)), text);
        }
    }
}
