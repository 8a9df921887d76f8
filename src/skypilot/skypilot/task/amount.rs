//! Parses `cpus`, `memory` and `disk_size`: `6`, `6+`, `16GB`, `4x`.

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use kueue_lab_yaml::{Located, Problem};

/// A number, or a string with a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawAmount(pub(super) String);

impl<'de> Deserialize<'de> for RawAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = RawAmount;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number or a string")
            }
            fn visit_u64<E: Error>(self, n: u64) -> Result<RawAmount, E> {
                Ok(RawAmount(n.to_string()))
            }
            fn visit_i64<E: Error>(self, n: i64) -> Result<RawAmount, E> {
                Ok(RawAmount(n.to_string()))
            }
            fn visit_f64<E: Error>(self, n: f64) -> Result<RawAmount, E> {
                Ok(RawAmount(n.to_string()))
            }
            fn visit_str<E: Error>(self, s: &str) -> Result<RawAmount, E> {
                Ok(RawAmount(s.trim().to_owned()))
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

/// Memory for one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Memory {
    /// GB (10⁹ bytes).
    Gigabytes(f64),
    /// GB per CPU (`4x`).
    PerCpu(f64),
}

/// Binary units in GB, as SkyPilot converts them (its GB is 2^30 here).
const UNITS: [(&str, f64); 10] = [
    ("kb", 1.0 / 1_048_576.0),
    ("ki", 1.0 / 1_048_576.0),
    ("mb", 1.0 / 1024.0),
    ("mi", 1.0 / 1024.0),
    ("gb", 1.0),
    ("gi", 1.0),
    ("tb", 1024.0),
    ("ti", 1024.0),
    ("pb", 1_048_576.0),
    ("pi", 1_048_576.0),
];

/// Parses `cpus`. The `+` of "at least" has no effect on Kubernetes.
pub(super) fn cpus(written: &Located<RawAmount>) -> Result<f64, Problem> {
    let text = written.value.0.as_str();
    let number = positive(text.strip_suffix('+').unwrap_or(text));
    number.ok_or_else(|| {
        let message = format!("cpus is a number above 0, or one with a + after it; found {text:?}");
        Problem::new(written.at, message)
    })
}

/// Parses `memory`.
pub(super) fn memory(written: &Located<RawAmount>) -> Result<Memory, Problem> {
    let text = written.value.0.as_str();
    let wrong = || {
        let message = format!(
            "memory is a number of GB above 0, with an optional unit (KB, MB, GB, TB, PB) and \
             an optional +; found {text:?}"
        );
        Problem::new(written.at, message)
    };
    if let Some(factor) = text.strip_suffix('x') {
        return positive(factor).map(Memory::PerCpu).ok_or_else(wrong);
    }
    gigabytes(text.strip_suffix('+').unwrap_or(text))
        .map(Memory::Gigabytes)
        .ok_or_else(wrong)
}

/// Parses `disk_size`, in GB.
pub(super) fn disk(written: &Located<RawAmount>) -> Result<u64, Problem> {
    let text = written.value.0.as_str();
    match gigabytes(text) {
        Some(size) if size.fract() == 0.0 && size < 1e9 => Ok(size as u64),
        _ => {
            let message = format!("disk_size is a whole number of GB above 0; found {text:?}");
            Err(Problem::new(written.at, message))
        }
    }
}

fn gigabytes(text: &str) -> Option<f64> {
    if let Some(number) = positive(text) {
        return Some(number);
    }
    let lower = text.to_ascii_lowercase();
    UNITS.iter().find_map(|(unit, factor)| {
        let number = positive(lower.strip_suffix(unit)?)?;
        Some(number * factor)
    })
}

fn positive(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = text.parse().ok().filter(|_| plain)?;
    (number > 0.0 && number < 1e12).then_some(number)
}
