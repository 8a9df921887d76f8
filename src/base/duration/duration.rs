//! [`Duration`]: Go's `time.Duration`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ParseDurationError;
use crate::parse::parse;

/// A span of time in whole nanoseconds; may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    nanos: i64,
}

/// Nanoseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000_000;

impl Duration {
    /// The zero duration.
    pub const ZERO: Self = Self { nanos: 0 };

    /// A number of seconds; saturates.
    pub const fn from_secs(seconds: i64) -> Self {
        Self {
            nanos: seconds.saturating_mul(SECOND),
        }
    }

    /// A number of nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self { nanos }
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.nanos
    }

    /// Whole seconds, rounded towards zero.
    pub const fn as_secs(self) -> i64 {
        self.nanos / SECOND
    }

    /// Whether the duration is negative.
    pub const fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// The duration as a standard library type; zero if it is negative.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(u64::try_from(self.nanos).unwrap_or(0))
    }
}

impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, ParseDurationError> {
        parse(text).map(Self::from_nanos)
    }
}

/// Saturates.
impl From<std::time::Duration> for Duration {
    fn from(span: std::time::Duration) -> Self {
        Self::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
    }
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
        text.parse().map_err(|error: ParseDurationError| {
            serde::de::Error::custom(format_args!(
                "{error}; write a number and a unit, such as 30s, 5m or 1h30m"
            ))
        })
    }
}
