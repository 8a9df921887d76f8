//! An exact amount with its format.

mod format;
mod parse;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use serde_json::Value;

pub use parse::QuantityError;

/// The format of a quantity, preserved when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Powers of ten by suffix: `n u m k M G T P E`.
    DecimalSi,
    /// Powers of 1024 by suffix: `Ki Mi Gi Ti Pi Ei`.
    BinarySi,
    /// Powers of ten by exponent: `1e3`.
    DecimalExponent,
}

/// An exact amount. Compares by value, however it was written.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Never a multiple of ten, unless zero.
    mantissa: i128,
    /// At least -9: Kubernetes rounds amounts below a nano. Zero for the value zero.
    exponent: i32,
    format: Format,
}

/// The smallest exponent: nanos.
const NANO: i32 = -9;
/// Exponents are clamped to this, far beyond any real amount and safe for arithmetic.
const MAX_EXPONENT: i32 = 1_000_000;

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self {
        mantissa: 0,
        exponent: 0,
        format: Format::DecimalSi,
    };

    /// A mantissa times a power of ten, normalized.
    fn new(mantissa: i128, exponent: i32, format: Format) -> Self {
        let mut mantissa = mantissa;
        let mut exponent = exponent.clamp(-2 * MAX_EXPONENT, 2 * MAX_EXPONENT);
        if exponent < NANO {
            mantissa = div_away(mantissa, pow10(NANO - exponent));
            exponent = NANO;
        }
        // At most 37 digits, so that amounts of one magnitude can be compared exactly.
        while mantissa.unsigned_abs() >= 10u128.pow(37) {
            mantissa = div_away(mantissa, 10);
            exponent += 1;
        }
        while mantissa != 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        let exponent = if mantissa == 0 {
            0
        } else {
            exponent.min(MAX_EXPONENT)
        };
        Self {
            mantissa,
            exponent,
            format,
        }
    }

    /// A whole number of units.
    pub fn from_value(value: i64) -> Self {
        Self::new(i128::from(value), 0, Format::DecimalSi)
    }

    /// A whole number of thousandths.
    pub fn from_milli(milli: i64) -> Self {
        Self::new(i128::from(milli), -3, Format::DecimalSi)
    }

    /// The quantity in a field of an object: a string or a JSON number.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text).ok(),
            Value::Number(number) => Self::parse(&number.to_string()).ok(),
            _ => None,
        }
    }

    /// The same for a field that may be absent or malformed, which counts as zero.
    pub fn or_zero(value: Option<&Value>) -> Self {
        value.and_then(Self::of).unwrap_or(Self::ZERO)
    }

    /// The same amount in another format.
    pub fn with_format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// The format it is written in.
    pub fn format(self) -> Format {
        self.format
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Whether it is negative.
    pub fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// Whether it is positive.
    pub fn is_positive(self) -> bool {
        self.mantissa > 0
    }

    /// Whether it is a whole number of units.
    pub fn is_integer(self) -> bool {
        self.exponent >= 0
    }

    /// Units, rounded away from zero and clamped to 64 bits.
    pub fn value(self) -> i64 {
        self.scaled(0)
    }

    /// Thousandths of a unit, rounded away from zero and clamped to 64 bits.
    pub fn milli_value(self) -> i64 {
        self.scaled(-3)
    }

    /// Multiples of 10^`scale`, rounded away from zero and clamped to 64 bits.
    pub fn scaled(self, scale: i32) -> i64 {
        let scaled = self.scaled_wide(scale);
        scaled.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// Billionths of a unit, clamped to 128 bits.
    pub fn nanos(self) -> i128 {
        self.scaled_wide(NANO)
    }

    fn scaled_wide(self, scale: i32) -> i128 {
        let shift = self.exponent.saturating_sub(scale).max(-MAX_EXPONENT);
        match shift {
            0.. => self.mantissa.saturating_mul(pow10(shift)),
            _ => div_away(self.mantissa, pow10(-shift)),
        }
    }

    /// The nearest floating-point number; for charts only.
    pub fn approximate(self) -> f64 {
        self.mantissa as f64 * 10f64.powi(self.exponent)
    }

    /// `factor` times the amount.
    #[must_use]
    pub fn times(self, factor: i64) -> Self {
        let (product, lost) = match self.mantissa.checked_mul(i128::from(factor)) {
            Some(product) => (product, 0),
            None => (
                (self.mantissa / 1_000_000_000_000_000_000) * i128::from(factor),
                18,
            ),
        };
        Self::new(product, self.exponent.saturating_add(lost), self.format)
    }

    /// The numerators of both over a common power of ten, where those fit.
    fn aligned(self, other: Self) -> Option<(i128, i128, i32)> {
        if self.is_zero() || other.is_zero() {
            return Some((
                self.mantissa,
                other.mantissa,
                self.exponent + other.exponent,
            ));
        }
        let exponent = self.exponent.min(other.exponent);
        let up = |q: Self| {
            10i128
                .checked_pow((q.exponent - exponent) as u32)
                .and_then(|p| q.mantissa.checked_mul(p))
        };
        Some((up(self)?, up(other)?, exponent))
    }

    /// The number of decimal digits before the point.
    fn magnitude(self) -> i64 {
        i64::from(self.exponent)
            + i64::from(self.mantissa.unsigned_abs().checked_ilog10().unwrap_or(0))
    }
}

/// Sum and difference keep the format of the left side, unless that is zero. If 37 digits do not
/// hold both operands, the larger one is the result.
impl std::ops::Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let format = if self.is_zero() {
            other.format
        } else {
            self.format
        };
        match self
            .aligned(other)
            .and_then(|(a, b, e)| Some((a.checked_add(b)?, e)))
        {
            Some((sum, exponent)) => Self::new(sum, exponent, format),
            None if self.magnitude() >= other.magnitude() => self.with_format(format),
            None => other.with_format(format),
        }
    }
}

impl std::ops::Neg for Quantity {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            mantissa: self.mantissa.saturating_neg(),
            ..self
        }
    }
}

impl std::ops::Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl std::ops::AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::ops::SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl std::iter::Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, |a, b| a + b)
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        (self.mantissa, self.exponent) == (other.mantissa, other.exponent)
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.mantissa, self.exponent).hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = self.mantissa.signum().cmp(&other.mantissa.signum());
        sign.then_with(|| match self.aligned(*other) {
            Some((a, b, _)) => a.cmp(&b),
            // Magnitudes too far apart to align: the number of digits decides.
            None if self.is_negative() => other.magnitude().cmp(&self.magnitude()),
            None => self.magnitude().cmp(&other.magnitude()),
        })
    }
}

impl TryFrom<&Text> for Quantity {
    type Error = QuantityError;

    fn try_from(text: &Text) -> Result<Self, QuantityError> {
        Self::parse(&text.0)
    }
}

impl From<Quantity> for Text {
    fn from(quantity: Quantity) -> Self {
        Text(quantity.to_string())
    }
}

/// Ten to the power of `n`, clamped to 128 bits.
fn pow10(n: i32) -> i128 {
    u32::try_from(n).map_or(1, |n| 10i128.saturating_pow(n))
}

/// The quotient, rounded away from zero; the divisor is positive.
fn div_away(a: i128, b: i128) -> i128 {
    a / b + if a % b == 0 { 0 } else { a.signum() }
}

#[cfg(test)]
mod tests;
