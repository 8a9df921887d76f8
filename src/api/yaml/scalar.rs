//! What a plain scalar means.

use serde_json::Number;

use super::Content;

/// Resolves a scalar that is not quoted, as the YAML library under kubectl does.
///
/// # Errors
/// A number that JSON cannot hold.
pub(super) fn plain(text: &str) -> Result<Content, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Content::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(Content::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(Content::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => {
            return Err(format!(
                "{text} is not a number JSON can hold; quote it if it is text"
            ));
        }
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Ok(Content::String(text.to_owned()));
    }
    let bare: String = text.chars().filter(|c| *c != '_').collect();
    if let Some(number) = integer(&bare) {
        return Ok(Content::Number(number));
    }
    if is_float(&bare)
        && let Ok(float) = bare.parse::<f64>()
    {
        return match whole(float).or_else(|| Number::from_f64(float)) {
            Some(number) => Ok(Content::Number(number)),
            None => Err(format!(
                "{text} is too large a number; quote it if it is text"
            )),
        };
    }
    Ok(Content::String(text.to_owned()))
}

/// Integers with an optional sign and base: `0x`, `0o` or a leading zero, `0b`.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = if let Some(hex) = lower.strip_prefix("0x") {
        (16, hex)
    } else if let Some(octal) = lower.strip_prefix("0o") {
        (8, octal)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        (2, binary)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    // A second sign is no digit.
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    if negative {
        0i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// Digits with an optional sign, point and exponent.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fine = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['-', '+']).unwrap_or(e);
        !e.is_empty() && digits(e)
    });
    digits(before) && digits(after) && !(before.is_empty() && after.is_empty()) && exponent_fine
}

/// A float without a fraction, as an integer: `1e3` is 1000.
fn whole(float: f64) -> Option<Number> {
    let limit = 9_007_199_254_740_992.0;
    (float.fract() == 0.0 && float.abs() < limit).then(|| Number::from(float as i64))
}
