//! Resolves unquoted scalars: YAML 1.1's rules as Go's `yaml.v2` applies them, as `kubectl` does.

use serde_json::Number;

use super::Kind;

/// A number that JSON cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScalarError {
    /// An infinity or not a number.
    #[error("{0} is not a number JSON can hold; quote it if it is text")]
    NotANumber(String),
    /// It is too large.
    #[error("{0} is too large a number; quote it if it is text")]
    TooLarge(String),
}

/// The value of a plain scalar. Dates stay strings, as in JSON.
///
/// # Errors
/// A number that JSON cannot represent.
pub(super) fn plain(text: &str) -> Result<Kind, ScalarError> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Kind::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Kind::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => {
            return Err(ScalarError::NotANumber(text.to_owned()));
        }
        _ => match number(text) {
            Some(Ok(number)) => Kind::Number(number),
            Some(Err(TooLarge)) => {
                return Err(ScalarError::TooLarge(text.to_owned()));
            }
            None => Kind::Text(text.to_owned()),
        },
    })
}

/// A number outside the range of a double.
struct TooLarge;

/// The number that a plain scalar represents, if any.
fn number(text: &str) -> Option<Result<Number, TooLarge>> {
    let first = *text.as_bytes().first()?;
    if first == b'.' {
        return float(text);
    }
    if !(first.is_ascii_digit() || first == b'+' || first == b'-') || is_date(text) {
        return None;
    }
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    integer(&digits).map(Ok).or_else(|| float(&digits))
}

/// An integer with Go's base prefixes; a leading zero means octal.
fn integer(text: &str) -> Option<Number> {
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = body.to_ascii_lowercase();
    let (base, digits) = if let Some(d) = lower.strip_prefix("0x") {
        (16, d)
    } else if let Some(d) = lower.strip_prefix("0b") {
        (2, d)
    } else if let Some(d) = lower.strip_prefix("0o") {
        (8, d)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    if negative {
        let value = i64::try_from(-i128::from(magnitude)).ok()?;
        Some(Number::from(value))
    } else {
        Some(Number::from(magnitude))
    }
}

/// A decimal float such as `1.5`, `.5`, `6.` or `1e3`.
fn float(text: &str) -> Option<Result<Number, TooLarge>> {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(i) => (&body[..i], Some(&body[i + 1..])),
        None => (body, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    if let Some(e) = exponent {
        let e = e.strip_prefix(['-', '+']).unwrap_or(e);
        if e.is_empty() || !digits(e) {
            return None;
        }
    }
    let float: f64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
    Some(
        whole_number(float)
            .or_else(|| Number::from_f64(float))
            .ok_or(TooLarge),
    )
}

/// A float without a fraction as JSON writes it, without a point: `1e3` is 1000.
fn whole_number(float: f64) -> Option<Number> {
    let exact = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
    exact.then(|| Number::from(float as i64))
}

/// Whether Go treats the text as a date: four digits and a dash.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn num(text: &str) -> String {
        match plain(text).unwrap() {
            Kind::Number(n) => n.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn numbers_parse_as_in_go() {
        for (text, expected) in [
            ("6", "6"),
            ("6.0", "6"),
            ("1_000", "1000"),
            ("010", "8"),
            ("0x1F", "31"),
            ("-0b11", "-3"),
            (".5", "0.5"),
            ("1e3", "1000"),
            ("1e30", "1e+30"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
        ] {
            assert_eq!(num(text), expected, "{text}");
        }
    }

    #[test]
    fn strings_that_look_like_numbers() {
        for text in [
            "36Gi",
            "200Mi",
            "1.5m",
            "2026-03-02",
            "10:30",
            "-",
            "+",
            ".",
            "e3",
            "0x",
            "09",
            "6+",
            "1.2.3",
        ] {
            let expected = if text == "09" { "Number" } else { "Text" };
            assert!(
                format!("{:?}", plain(text).unwrap()).starts_with(expected),
                "{text}: {:?}",
                plain(text)
            );
        }
    }

    #[test]
    fn yaml_1_1_booleans() {
        assert_eq!(plain("yes"), Ok(Kind::Bool(true)));
        assert_eq!(plain("Off"), Ok(Kind::Bool(false)));
        assert_eq!(plain("yEs"), Ok(Kind::Text("yEs".into())));
        assert_eq!(plain("~"), Ok(Kind::Null));
    }

    #[test]
    fn numbers_outside_json_are_rejected() {
        assert!(
            plain(".inf")
                .unwrap_err()
                .to_string()
                .contains("not a number JSON")
        );
        assert!(
            plain("1e999")
                .unwrap_err()
                .to_string()
                .contains("too large a number")
        );
    }
}
