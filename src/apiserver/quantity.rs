//! Quantities of resources (`100m`, `1Gi`, `2.5`): exact decimal arithmetic and the canonical text.
//!
//! A value is an integer number of nano-units, so that every quantity Kubernetes can express is
//! compared and added without rounding.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

/// How a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Powers of ten with a suffix: `n u m k M G T P E`.
    DecimalSi,
    /// Powers of 1024 with a suffix: `Ki Mi Gi Ti Pi Ei`.
    BinarySi,
    /// Powers of ten with an exponent: `1e3`.
    DecimalExponent,
}

/// Why a text is no quantity, in the words of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number with a suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// The number is there, the suffix is none of the known ones.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// An amount of a resource.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

const NANO: i128 = 1_000_000_000;
/// Larger binary amounts are taken as this; larger decimal ones as [`MAX_DECIMAL`].
const MAX_BINARY: i128 = (i64::MAX as i128) * NANO;
const MAX_DECIMAL: i128 = 10i128.pow(37);
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Suffixes of thousandths and thousands; the middle one stands for 1.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self {
        nanos: 0,
        format: Format::DecimalSi,
    };

    /// A whole number of units.
    pub fn from_units(units: i64) -> Self {
        Self {
            nanos: i128::from(units) * NANO,
            format: Format::DecimalSi,
        }
    }

    /// A number of thousandths of a unit.
    pub fn from_millis(millis: i64) -> Self {
        Self {
            nanos: i128::from(millis) * (NANO / 1000),
            format: Format::DecimalSi,
        }
    }

    /// Reads the text of a quantity; fractions below a nano-unit are rounded up.
    ///
    /// # Errors
    /// The text is not a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (negative, rest) = match text.as_bytes() {
            [] => return Err(QuantityError::Format),
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
        let (whole, rest) = rest.split_at(digits(rest));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        check_suffix_form(suffix)?;
        let (base, exponent, format) = interpret(suffix).ok_or(QuantityError::Suffix)?;
        let magnitude = scaled(whole, fraction, base, exponent);
        Ok(Self {
            nanos: if negative { -magnitude } else { magnitude },
            format,
        })
    }

    /// The quantity in a field of an object: a string, or a JSON number.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(s) => Self::parse(s).ok(),
            Value::Number(n) => Self::parse(&n.to_string()).ok(),
            _ => None,
        }
    }

    /// The same as a field of an object, nothing where it is absent or malformed.
    pub fn or_zero(value: Option<&Value>) -> Self {
        value.and_then(Self::of).unwrap_or(Self::ZERO)
    }

    /// Whether it is a whole number of units.
    pub fn is_integer(self) -> bool {
        self.nanos % NANO == 0
    }

    /// -1, 0 or 1.
    pub fn signum(self) -> i32 {
        self.nanos.signum() as i32
    }

    /// Whole units, rounded up, as far as they fit.
    pub fn units(self) -> i64 {
        clamp(div_ceil(self.nanos, NANO))
    }

    /// Thousandths of a unit, rounded up, as far as they fit.
    pub fn millis(self) -> i64 {
        clamp(div_ceil(self.nanos, NANO / 1000))
    }

    /// The sum, written as `self` is, or as `other` where `self` is nothing.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.nanos == 0 {
            other.format
        } else {
            self.format
        };
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format,
        }
    }

    /// The difference, written as `self` is, or as `other` where `self` is nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let format = if self.nanos == 0 {
            other.format
        } else {
            self.format
        };
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            format,
        }
    }

    /// The larger of two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let small = self.nanos.abs() < 1024 * NANO;
        if self.format == Format::BinarySi && !small {
            let mut units = div_ceil(self.nanos, NANO);
            let mut power = 0;
            while units % 1024 == 0 && power < BINARY.len() - 1 {
                units /= 1024;
                power += 1;
            }
            return write!(f, "{units}{}", BINARY[power]);
        }
        let mut mantissa = self.nanos;
        let mut thousands = 0;
        while mantissa % 1000 == 0 && thousands < DECIMAL.len() - 1 {
            mantissa /= 1000;
            thousands += 1;
        }
        match (self.format, thousands) {
            (Format::DecimalExponent, 3) => write!(f, "{mantissa}"),
            (Format::DecimalExponent, _) => {
                // The exponent form knows no largest suffix.
                let mut exponent = 3 * thousands as i32 - 9;
                while mantissa % 1000 == 0 {
                    mantissa /= 1000;
                    exponent += 3;
                }
                write!(f, "{mantissa}e{exponent}")
            }
            _ => write!(f, "{mantissa}{}", DECIMAL[thousands]),
        }
    }
}

/// A suffix is letters of a small set, then perhaps a signed number.
fn check_suffix_form(suffix: &str) -> Result<(), QuantityError> {
    let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let signed = letters.strip_prefix(['-', '+']).unwrap_or(letters);
    match signed.bytes().all(|b| b.is_ascii_digit()) {
        true => Ok(()),
        false => Err(QuantityError::Format),
    }
}

/// Base, exponent and format of a suffix.
fn interpret(suffix: &str) -> Option<(i128, i32, Format)> {
    if let Some(power) = DECIMAL.iter().position(|s| *s == suffix) {
        return Some((10, 3 * power as i32 - 9, Format::DecimalSi));
    }
    if let Some(power) = BINARY.iter().position(|s| *s == suffix) {
        return Some((1024, power as i32, Format::BinarySi));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((10, exponent.parse().ok()?, Format::DecimalExponent))
}

/// `whole.fraction * base^exponent` in nano-units, rounded up, capped.
fn scaled(whole: &str, fraction: &str, base: i128, exponent: i32) -> i128 {
    let cap = if base == 10 { MAX_DECIMAL } else { MAX_BINARY };
    let mut mantissa: i128 = 0;
    let mut lost = false;
    // Decimal places still to be divided away after the suffix is applied.
    let mut places: i32 = 9;
    for (i, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if mantissa > MAX_DECIMAL / 100 {
            // More digits cannot matter any more: too large, or far below a nano-unit.
            if i < whole.len() {
                return cap;
            }
            lost |= digit != b'0';
            continue;
        }
        mantissa = mantissa * 10 + i128::from(digit - b'0');
        if i >= whole.len() {
            places -= 1;
        }
    }
    if mantissa == 0 {
        return 0;
    }
    if base == 10 {
        places = places.saturating_add(exponent);
    } else {
        for _ in 0..exponent {
            mantissa = match mantissa.checked_mul(base) {
                Some(m) => m,
                None => return cap,
            };
        }
    }
    while places > 0 {
        if mantissa > cap {
            return cap;
        }
        mantissa *= 10;
        places -= 1;
    }
    while places < 0 {
        lost |= mantissa % 10 != 0;
        mantissa /= 10;
        places += 1;
        if mantissa == 0 {
            break;
        }
    }
    (mantissa + i128::from(lost)).min(cap)
}

/// Division rounding away from zero, as quantities round.
fn div_ceil(value: i128, by: i128) -> i128 {
    let quotient = value / by;
    if value % by == 0 {
        quotient
    } else {
        quotient + value.signum()
    }
}

fn clamp(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        Quantity::parse(text)
            .map(|q| q.to_string())
            .unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn canonical_text() {
        for (given, want) in [
            ("0", "0"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("100m", "100m"),
            ("1024Mi", "1Gi"),
            ("2147483648", "2147483648"),
            ("1e3", "1e3"),
            ("1000", "1k"),
            ("12e6", "12e6"),
            ("5E", "5E"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("1023", "1023"),
            ("1Ki", "1Ki"),
            ("1.1Ki", "1127"),
            ("-1", "-1"),
            ("+1", "1"),
            ("0.0000000001", "1n"),
            ("100000000", "100M"),
            ("10Ei", "9223372036854775807"),
            ("10E", "10E"),
            ("1.", "1"),
            (".5", "500m"),
            ("6.0", "6"),
            ("100u", "100u"),
            ("1.5e3", "1500"),
        ] {
            assert_eq!(canonical(given), want, "{given}");
        }
    }

    #[test]
    fn malformed_text() {
        for text in ["", "abc", "1x", "1 Gi", "1..2", "1.2.3"] {
            assert_eq!(
                Quantity::parse(text).unwrap_err(),
                QuantityError::Format,
                "{text}"
            );
        }
        for text in [
            "1KiB".trim_end_matches('B').replace("Ki", "K").as_str(),
            "1mm",
            "1e",
            "1EE",
        ] {
            assert_eq!(
                Quantity::parse(text).unwrap_err(),
                QuantityError::Suffix,
                "{text}"
            );
        }
    }

    #[test]
    fn arithmetic() {
        let q = |s| Quantity::parse(s).expect("a quantity");
        assert!(q("1") > q("999m"));
        assert_eq!(q("1Ki"), q("1024"));
        assert_eq!(q("1Gi").plus(q("1Mi")).to_string(), "1025Mi");
        assert_eq!(q("2").minus(q("500m")).to_string(), "1500m");
        assert_eq!(Quantity::ZERO.plus(q("1Gi")).to_string(), "1Gi");
        assert_eq!((q("1100m").units(), q("1100m").millis()), (2, 1100));
        assert!(!q("1500m").is_integer() && q("2").is_integer());
        assert_eq!(Quantity::of(&serde_json::json!(6.0)), Some(q("6")));
    }

    proptest! {
        #[test]
        fn canonical_text_is_stable_and_equal(whole in 0u64..1 << 50, suffix in "(n|u|m|k|M|G|Ki|Mi|Gi|e3)?") {
            let q = Quantity::parse(&format!("{whole}{suffix}")).unwrap();
            let again = Quantity::parse(&q.to_string()).unwrap();
            prop_assert_eq!(q, again);
            prop_assert_eq!(q.to_string(), again.to_string());
        }

        #[test]
        fn any_text_is_a_quantity_or_an_error(text in "[-+0-9.eEKMGinumkTP]{0,40}") {
            if let Ok(q) = Quantity::parse(&text) {
                let again = Quantity::parse(&q.to_string());
                prop_assert_eq!(again, Ok(q));
            }
        }
    }
}
