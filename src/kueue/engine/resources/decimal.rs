//! [`Decimal`]: the exact value of a Kubernetes quantity.
//!
//! Must not depend on resources.

use std::fmt;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use thiserror::Error;

use kueue_lab_quantity::Quantity as Exact;
use kueue_lab_reason::resources::DECIMAL_SUFFIXES;

/// Units of a [`Decimal`] in 1.
const ONE: i128 = 1_000_000_000_000_000_000;
/// Units of a [`Decimal`] in a nano, the smallest fraction of a quantity.
const NANO: i128 = 1_000_000_000;

/// A fixed-point decimal with 18 fractional digits, sufficient for the product of two quantities.
/// Arithmetic saturates at about 10²⁰.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(i128);

/// A text that is not a Kubernetes quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is not a quantity: want a number with an optional suffix such as m, k, M, G, Ki, Mi, Gi or an exponent such as e3"
)]
pub struct InvalidQuantity(pub String);

impl From<Exact> for Decimal {
    /// Converts, saturating.
    fn from(exact: Exact) -> Self {
        Decimal(exact.nanos().saturating_mul(NANO))
    }
}

impl Decimal {
    /// Zero.
    pub const ZERO: Decimal = Decimal(0);

    /// A whole number.
    pub(crate) fn from_int(value: i64) -> Self {
        Decimal(i128::from(value) * ONE)
    }

    /// Thousandths.
    pub fn from_milli(value: i64) -> Self {
        Decimal(i128::from(value) * (ONE / 1000))
    }

    /// The value of a Kubernetes quantity: fractions below a nano round away from zero.
    ///
    /// # Errors
    /// When the text is not a quantity.
    pub fn parse(text: &str) -> Result<Self, InvalidQuantity> {
        let exact = Exact::parse(text).map_err(|_| InvalidQuantity(text.to_owned()))?;
        Ok(exact.into())
    }

    /// Parses the quantity of a validated object; zero if it is invalid.
    pub fn parse_lossy(quantity: &Quantity) -> Self {
        Exact::parse(&quantity.0).unwrap_or_default().into()
    }

    /// The integer, rounded away from zero and clamped to 64 bits.
    pub fn value(self) -> i64 {
        clamp(div_away(self.0, ONE))
    }

    /// The thousandths, rounded away from zero and clamped to 64 bits.
    pub fn milli_value(self) -> i64 {
        clamp(div_away(self.0, ONE / 1000))
    }

    /// Whether the number is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether the number is below zero.
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Decimal) -> Decimal {
        Decimal(self.0.saturating_add(other.0))
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Decimal) -> Decimal {
        Decimal(self.0.saturating_sub(other.0))
    }

    /// The product. Exact for factors without fractions below a nano, as parsed quantities are.
    #[must_use]
    pub fn times(self, other: Decimal) -> Decimal {
        let (a, b) = (self.0, other.0);
        if a % NANO == 0 && b % NANO == 0 {
            return Decimal((a / NANO).saturating_mul(b / NANO));
        }
        let negative = (a < 0) != (b < 0);
        // One factor has digits below a nano: multiply the integer and the fraction of the other
        // separately.
        let whole = a
            .unsigned_abs()
            .saturating_mul(b.unsigned_abs() / ONE.unsigned_abs());
        let part = mul_div(
            a.unsigned_abs(),
            (b.unsigned_abs() % ONE.unsigned_abs()) as u64,
            18,
        );
        Decimal(signed(whole.saturating_add(part), negative))
    }

    /// The product with a finite float taken at its shortest decimal notation, truncated to nanos.
    /// A factor that is not finite gives zero.
    #[must_use]
    pub(crate) fn times_f64(self, factor: f64) -> Decimal {
        if !factor.is_finite() {
            return Decimal::ZERO;
        }
        let text = format!("{}", factor.abs());
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let negative = (self.0 < 0) != (factor < 0.0);
        let magnitude = self.0.unsigned_abs();
        let product = match whole.parse::<u64>() {
            Err(_) => u128::MAX,
            Ok(whole) => {
                // Up to seventeen significant digits; the rest of a tiny fraction is zeros.
                let digits = fraction.trim_start_matches('0');
                let scale = fraction.len() as u32;
                let part = mul_div(magnitude, digits.parse::<u64>().unwrap_or(0), scale);
                magnitude
                    .saturating_mul(u128::from(whole))
                    .saturating_add(part)
            }
        };
        Decimal(signed(product - product % NANO.unsigned_abs(), negative))
    }

    /// The nearest float.
    pub fn as_f64(self) -> f64 {
        // Dividing in two steps keeps whole numbers and thousandths exact.
        let nanos = self.0 / NANO;
        if nanos % 1_000_000_000 == 0 {
            (nanos / 1_000_000_000) as f64
        } else {
            nanos as f64 / 1e9
        }
    }

    /// The canonical decimal form: no fractional digits, the largest possible suffix out of n, u,
    /// m, none, k, M, G, T, P, E.
    pub(crate) fn to_decimal_si(self) -> String {
        let mut mantissa = div_away(self.0, NANO);
        if mantissa == 0 {
            return "0".to_owned();
        }
        let mut step = 0;
        while step + 1 < DECIMAL_SUFFIXES.len() && mantissa % 1000 == 0 {
            mantissa /= 1000;
            step += 1;
        }
        format!("{mantissa}{}", DECIMAL_SUFFIXES[step])
    }
}

fn signed(magnitude: u128, negative: bool) -> i128 {
    let v = i128::try_from(magnitude).unwrap_or(i128::MAX);
    if negative { -v } else { v }
}

fn clamp(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

fn div_away(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b == 0 { q } else { q + a.signum() }
}

/// `a * m / 10^scale`, truncated, saturating.
fn mul_div(a: u128, m: u64, scale: u32) -> u128 {
    let m = u128::from(m);
    let low = (a & u128::from(u64::MAX)) * m;
    let high = (a >> 64) * m + (low >> 64);
    // Three limbs of 64 bits, most significant first.
    let mut limbs = [(high >> 64) as u64, high as u64, low as u64];
    let mut left = scale;
    while left > 0 {
        let step = left.min(18);
        let divisor = 10u128.pow(step);
        let mut rest = 0u128;
        for limb in &mut limbs {
            let current = (rest << 64) | u128::from(*limb);
            *limb = (current / divisor) as u64;
            rest = current % divisor;
        }
        if limbs == [0, 0, 0] {
            return 0;
        }
        left -= step;
    }
    if limbs[0] != 0 {
        return u128::MAX;
    }
    (u128::from(limbs[1]) << 64) | u128::from(limbs[2])
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_decimal_si())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn all_quantity_formats_parse() {
        for (text, milli) in [
            ("1", 1000),
            ("1.5", 1500),
            (".5", 500),
            ("5.", 5000),
            ("100m", 100),
            ("1k", 1_000_000),
            ("1Ki", 1_024_000),
            ("1.5Gi", 1_610_612_736_000),
            ("2e3", 2_000_000),
            ("2E-3", 2),
            ("+3", 3000),
            ("-1.5", -1500),
            ("0.1m", 1),
            ("1n", 1),
            ("0", 0),
            ("0Ei", 0),
            // Odd, but Kubernetes takes them for zero.
            ("-", 0),
            (".", 0),
        ] {
            assert_eq!(d(text).milli_value(), milli, "{text}");
        }
        for text in ["", "1.2.3", "1x", "one", "1 Gi", "0x10", "1e", "1Kib"] {
            assert!(Decimal::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn large_values_are_capped() {
        for text in [
            "1e30",
            "9999999999999999999999",
            "1000000000000000000Ei",
            "1e999999999999",
        ] {
            assert_eq!(d(text).value(), i64::MAX, "{text}");
        }
        assert_eq!(d("-1e30").value(), i64::MIN);
        assert_eq!(d("1e-999999999").to_decimal_si(), "1n");
        assert_eq!(d("1000000000Gi").value(), 1_000_000_000 << 30);
    }

    #[test]
    fn canonical_forms() {
        for (text, want) in [
            ("1500m", "1500m"),
            ("2000m", "2"),
            ("15000", "15k"),
            ("100", "100"),
            ("1e6", "1M"),
            ("0.000001", "1u"),
            ("-2000", "-2k"),
        ] {
            assert_eq!(d(text).to_decimal_si(), want, "{text}");
        }
    }

    #[test]
    fn products() {
        assert_eq!(d("1.5").times(d("4")).milli_value(), 6000);
        assert_eq!(d("1e18").times(d("1e18")).value(), i64::MAX);
        assert_eq!(d("-2").times(d("3")).value(), -6);
        assert_eq!(d("10").times_f64(0.25), d("2500m"));
        assert_eq!(d("1").times_f64(1.0 / 3.0).to_decimal_si(), "333333333n");
        assert_eq!(d("1").times_f64(1e-12), Decimal::ZERO);
        assert_eq!(d("2").times_f64(1.5), d("3"));
        assert_eq!(d("1").times_f64(f64::NAN), Decimal::ZERO);
        assert_eq!(
            d("9223372036854775807").times_f64(0.5).value(),
            4611686018427387904
        );
    }

    proptest! {
        #[test]
        fn any_text_parses_or_is_rejected(text in "[+-]?[0-9.]{0,25}[a-zA-Z0-9+-]{0,5}") {
            if let Ok(v) = Decimal::parse(&text) {
                let _ = (v.value(), v.milli_value(), v.as_f64());
                prop_assert_eq!(Decimal::parse(&v.to_decimal_si()).unwrap(), v);
            }
        }

        #[test]
        fn decay_never_grows(v in 0i64..1_000_000_000_000, f in 0.0f64..1.0) {
            let x = Decimal::from_int(v);
            prop_assert!(x.times_f64(f) <= x);
        }
    }
}
