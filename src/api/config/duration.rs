//! Spans of time as Go writes them: `5m`, `1h30m`, `300ms`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A span of time in whole nanoseconds; may be negative, which validation refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    nanos: i64,
}

/// Text that is no span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time: invalid duration {0:?}; write a number and a unit, such as 30s, 5m or 1h30m")]
pub struct ParseDurationError(pub String);

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
const SECOND: i64 = 1_000_000_000;

impl Duration {
    /// No time.
    pub const ZERO: Self = Self { nanos: 0 };

    /// A number of seconds, as far as they fit.
    pub const fn from_secs(seconds: i64) -> Self {
        Self {
            nanos: seconds.saturating_mul(SECOND),
        }
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.nanos
    }

    /// Whole seconds, rounded towards zero.
    pub const fn as_secs(self) -> i64 {
        self.nanos / SECOND
    }

    /// Whether it is below zero.
    pub const fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// The span as the standard library has it; nothing left of a negative one.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(u64::try_from(self.nanos).unwrap_or(0))
    }
}

impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, ParseDurationError> {
        parse(text)
            .map(|nanos| Self { nanos })
            .ok_or_else(|| ParseDurationError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number);
        let unit = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let whole: i128 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        nanos = nanos.checked_add(whole.checked_mul(i128::from(*scale))?)?;
        // Digits beyond a nanosecond of an hour do not matter.
        let fraction = &fraction[..fraction.len().min(18)];
        if !fraction.is_empty() {
            let part: i128 = fraction.parse().ok()?;
            let part = part * i128::from(*scale) / 10i128.pow(fraction.len() as u32);
            nanos = nanos.checked_add(part)?;
        }
        rest = after;
    }
    i64::try_from(if negative { -nanos } else { nanos }).ok()
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos < 0 {
            f.write_str("-")?;
        }
        let nanos = self.nanos.unsigned_abs();
        let decimal = |f: &mut fmt::Formatter<'_>, unit: u64, name: &str| {
            let (whole, rest) = (nanos / unit, nanos % unit);
            let digits = format!("{:0>1$}", rest, unit.ilog10() as usize);
            let digits = digits.trim_end_matches('0');
            if rest == 0 {
                write!(f, "{whole}{name}")
            } else {
                write!(f, "{whole}.{digits}{name}")
            }
        };
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => decimal(f, 1_000, "µs"),
            1_000_000..1_000_000_000 => decimal(f, 1_000_000, "ms"),
            _ => {
                let (minutes, below) = (nanos / 60_000_000_000, nanos % 60_000_000_000);
                match (minutes / 60, minutes % 60) {
                    (0, 0) => {}
                    (0, m) => write!(f, "{m}m")?,
                    (h, m) => write!(f, "{h}h{m}m")?,
                }
                let (seconds, rest) = (below / 1_000_000_000, below % 1_000_000_000);
                let digits = format!("{rest:0>9}");
                let digits = digits.trim_end_matches('0');
                if rest == 0 {
                    write!(f, "{seconds}s")
                } else {
                    write!(f, "{seconds}.{digits}s")
                }
            }
        }
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_read_and_write_as_in_go() {
        for (text, canonical, nanos) in [
            ("0", "0s", 0),
            ("5m", "5m0s", 300 * SECOND),
            ("168h", "168h0m0s", 604_800 * SECOND),
            ("1h30m", "1h30m0s", 5_400 * SECOND),
            ("1.5h", "1h30m0s", 5_400 * SECOND),
            ("-1.5s", "-1.5s", -3 * SECOND / 2),
            ("300ms", "300ms", 300_000_000),
            ("1500us", "1.5ms", 1_500_000),
            ("1µs", "1µs", 1_000),
            (".5m", "30s", 30 * SECOND),
            ("90s", "1m30s", 90 * SECOND),
            ("1m0.5s", "1m0.5s", 60_500_000_000),
        ] {
            let read: Duration = text.parse().unwrap();
            assert_eq!(
                (read.as_nanos(), read.to_string().as_str()),
                (nanos, canonical),
                "{text}"
            );
        }
        for bad in [
            "",
            "5",
            "m",
            "5 m",
            "5x",
            "1..5s",
            "-",
            "1h-5m",
            "99999999999h",
            "170141183460469231731687303715884105.999us",
            ".",
        ] {
            assert!(bad.parse::<Duration>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_span_survives(nanos in any::<i64>()) {
            let span = Duration { nanos };
            prop_assert_eq!(span.to_string().parse::<Duration>(), Ok(span));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,20}|[-+.0-9a-zµ]{0,40}") {
            let _ = text.parse::<Duration>();
        }
    }
}
