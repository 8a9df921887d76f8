//! Writing quantities in their canonical form: the largest suffix that leaves no fraction.

use std::fmt::{self, Write};

use super::{Format, Quantity, pow10};

const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        match self.format {
            Format::BinarySi if let Some(whole) = self.binary_units() => binary(whole, f),
            Format::DecimalExponent => {
                let exponent = self.exponent.div_euclid(3) * 3;
                self.digits(exponent, f)?;
                if exponent == 0 {
                    Ok(())
                } else {
                    write!(f, "e{exponent}")
                }
            }
            Format::BinarySi | Format::DecimalSi => {
                let exponent = (self.exponent.div_euclid(3) * 3).min(18);
                self.digits(exponent, f)?;
                f.write_str(DECIMAL[(exponent / 3 + 3) as usize])
            }
        }
    }
}

impl Quantity {
    /// The units if they are an integer large enough for binary suffixes.
    fn binary_units(self) -> Option<i128> {
        let whole = 10i128.checked_pow(u32::try_from(self.exponent).ok()?)?;
        let whole = self.mantissa.checked_mul(whole)?;
        (whole.unsigned_abs() >= 1024).then_some(whole)
    }

    /// Writes the number of 10^`exponent`, which divides the value.
    fn digits(self, exponent: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zeros = self.exponent - exponent;
        match self.mantissa.checked_mul(pow10(zeros)) {
            Some(n) if zeros <= 38 => write!(f, "{n}"),
            _ => {
                write!(f, "{}", self.mantissa)?;
                (0..zeros).try_for_each(|_| f.write_char('0'))
            }
        }
    }
}

/// Writes a whole number with the largest binary suffix that divides it.
fn binary(whole: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut number = whole;
    let mut power = 0;
    while number % 1024 == 0 && power + 1 < BINARY.len() {
        number /= 1024;
        power += 1;
    }
    write!(f, "{number}{}", BINARY[power])
}
