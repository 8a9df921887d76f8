//! Parsing quantities, as lenient and as strict as Kubernetes.

use std::str::FromStr;

use super::{Format, MAX_EXPONENT, NANO, Quantity, div_away, pow10};

/// The error of a text that is not a quantity, in the wording of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a number followed by a suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Form,
    /// A number with an unknown suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The number of digits that are kept; the rest rounds away from zero.
const DIGITS: usize = 37;

impl Quantity {
    /// Parses a quantity. Fractions below a nano round away from zero, and binary amounts above
    /// 2^63-1 are clamped, as in Kubernetes.
    ///
    /// # Errors
    /// The text is not a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Form);
        }
        let (negative, rest) = match text.as_bytes()[0] {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, rest) = rest.split_at(digits(rest));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        check_form(suffix)?;
        let (scale, format) = interpret(suffix).ok_or(QuantityError::Suffix)?;
        let (mantissa, dropped) = significant(whole, fraction);
        let exponent = dropped.saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX));
        let quantity = match scale {
            Scale::Ten(scale) => Self::new(mantissa, exponent.saturating_add(scale), format),
            Scale::Two(bits) => binary(mantissa, exponent, bits),
        };
        Ok(if negative { -quantity } else { quantity })
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

/// The factor of a suffix.
enum Scale {
    /// A power of ten.
    Ten(i32),
    /// A power of two.
    Two(u32),
}

/// The number of leading digits.
fn digits(s: &str) -> usize {
    s.bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(s.len())
}

/// Checks that a suffix has the form letters, sign, digits.
fn check_form(suffix: &str) -> Result<(), QuantityError> {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if digits(rest) == rest.len() {
        Ok(())
    } else {
        Err(QuantityError::Form)
    }
}

/// The scale and format of a suffix; `None` for an unknown one.
fn interpret(suffix: &str) -> Option<(Scale, Format)> {
    let ten = |n| Some((Scale::Ten(n), Format::DecimalSi));
    let two = |n| Some((Scale::Two(n), Format::BinarySi));
    match suffix {
        "n" => ten(-9),
        "u" => ten(-6),
        "m" => ten(-3),
        "" => ten(0),
        "k" => ten(3),
        "M" => ten(6),
        "G" => ten(9),
        "T" => ten(12),
        "P" => ten(15),
        "E" => ten(18),
        "Ki" => two(10),
        "Mi" => two(20),
        "Gi" => two(30),
        "Ti" => two(40),
        "Pi" => two(50),
        "Ei" => two(60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let limit = i64::from(MAX_EXPONENT);
            Some((
                Scale::Ten(exponent.clamp(-limit, limit) as i32),
                Format::DecimalExponent,
            ))
        }
    }
}

/// The digits as a number, and the number of digits dropped from the end.
fn significant(whole: &str, fraction: &str) -> (i128, i32) {
    let all = || {
        whole
            .bytes()
            .chain(fraction.bytes())
            .skip_while(|b| *b == b'0')
    };
    let mantissa = all()
        .take(DIGITS)
        .fold(0i128, |n, b| n * 10 + i128::from(b - b'0'));
    let dropped = all().skip(DIGITS).count();
    let round_up = all().skip(DIGITS).any(|b| b != b'0');
    (
        mantissa + i128::from(round_up),
        i32::try_from(dropped).unwrap_or(i32::MAX),
    )
}

/// A decimal number times a power of two, at most 2^63-1.
fn binary(mantissa: i128, exponent: i32, bits: u32) -> Quantity {
    let max = Quantity::from_value(i64::MAX).with_format(Format::BinarySi);
    let exact = match exponent {
        0.. => mantissa
            .checked_mul(1 << bits)
            .map(|n| Quantity::new(n, exponent, Format::BinarySi)),
        // In nanos, so that a long fraction does not overflow.
        _ => nanos(mantissa, exponent, bits).map(|n| Quantity::new(n, NANO, Format::BinarySi)),
    };
    let quantity = exact.map_or(max, |q| q.min(max));
    // Values below one are written in decimal, since 1024 does not divide them.
    if quantity < Quantity::from_value(1) {
        quantity.with_format(Format::DecimalSi)
    } else {
        quantity
    }
}

/// `mantissa * 10^exponent * 2^bits` in nanos, rounded up; `None` beyond 2^63 units.
fn nanos(mantissa: i128, exponent: i32, bits: u32) -> Option<i128> {
    let down = pow10(-exponent);
    let (whole, rest) = (mantissa / down, mantissa % down);
    let per_one = (1i128 << bits).checked_mul(pow10(-NANO))?;
    let whole = whole.checked_mul(per_one)?;
    // The rest is below one; digits that cannot matter are dropped so that the product fits.
    let (mut rest, mut down) = (rest, down);
    while rest.checked_mul(per_one).is_none() {
        rest = div_away(rest, 10);
        down /= 10;
    }
    whole.checked_add(div_away(rest * per_one, down.max(1)))
}
