//! `printf` and the text of numbers.

use super::value::Value;

/// Maximum width and precision.
const MOST: usize = 4096;

/// The text of a number: an integer, or `%.6g`.
pub(super) fn number_text(number: f64) -> String {
    match number.fract() == 0.0 && number.abs() < 1e16 {
        true => format!("{}", number as i64),
        false => general(number, 6),
    }
}

/// Formats values, as `sprintf`.
pub(super) fn sprintf(format: &str, values: &[Value]) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    let mut letters = format.chars().peekable();
    while let Some(c) = letters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if letters.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let mut flags = String::new();
        while let Some(flag) = letters.next_if(|c| "-+ 0#".contains(*c)) {
            flags.push(flag);
        }
        let mut number = |values: &mut std::slice::Iter<'_, Value>| {
            if letters.next_if_eq(&'*').is_some() {
                return values.next().map(|value| value.number() as i64);
            }
            let mut digits = String::new();
            while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            digits.parse().ok()
        };
        let width = number(&mut values).unwrap_or_default();
        if width < 0 {
            flags.push('-');
        }
        let width = usize::try_from(width.unsigned_abs())
            .unwrap_or(MOST)
            .min(MOST);
        let precision = match letters.next_if_eq(&'.') {
            None => None,
            Some(_) => {
                let mut digits = String::new();
                while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                    digits.push(digit);
                }
                Some(digits.parse().unwrap_or(0_usize).min(MOST))
            }
        };
        let Some(conversion) = letters.next() else {
            break;
        };
        let value = values.next().cloned().unwrap_or(Value::Unset);
        let text = converted(conversion, &value, precision, &flags);
        pad(&mut out, &text, width, &flags, conversion);
    }
    out
}

fn converted(conversion: char, value: &Value, precision: Option<usize>, flags: &str) -> String {
    let signed = |text: String| match text.starts_with('-') {
        false if flags.contains('+') => format!("+{text}"),
        false if flags.contains(' ') => format!(" {text}"),
        _ => text,
    };
    let number = value.number();
    match conversion {
        'd' | 'i' => {
            let digits = format!(
                "{:0width$}",
                (number as i64).unsigned_abs(),
                width = precision.unwrap_or(0)
            );
            let sign = if (number as i64) < 0 { "-" } else { "" };
            signed(format!("{sign}{digits}"))
        }
        'u' => format!("{}", number as u64),
        'o' => format!("{:o}", number as i64),
        'x' => format!("{:x}", number as i64),
        'X' => format!("{:X}", number as i64),
        'f' | 'F' => signed(format!("{number:.*}", precision.unwrap_or(6))),
        'e' | 'E' => signed(exponential(number, precision.unwrap_or(6))),
        'g' | 'G' => signed(general(number, precision.unwrap_or(6))),
        'c' => match value {
            Value::Number(code) => char::from_u32(*code as u32).into_iter().collect(),
            other => other.text().chars().take(1).collect(),
        },
        _ => {
            let text = value.text();
            match precision {
                Some(most) => text.chars().take(most).collect(),
                None => text,
            }
        }
    }
}

fn pad(out: &mut String, text: &str, width: usize, flags: &str, conversion: char) {
    let missing = width.saturating_sub(text.chars().count());
    let fill = |fill: &str| fill.repeat(missing);
    if flags.contains('-') {
        out.push_str(text);
        out.push_str(&fill(" "));
    } else if flags.contains('0') && !matches!(conversion, 's' | 'c') {
        let sign = usize::from(text.starts_with(['-', '+', ' ']));
        out.push_str(&text[..sign]);
        out.push_str(&fill("0"));
        out.push_str(&text[sign..]);
    } else {
        out.push_str(&fill(" "));
        out.push_str(text);
    }
}

/// `%e`.
fn exponential(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or_default();
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        None => text,
    }
}

/// `%g`: the shorter form, without trailing zeros.
fn general(number: f64, precision: usize) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.into();
    }
    let precision = precision.max(1);
    let exponent = match number {
        0.0 => 0,
        number => {
            let text = format!("{number:.*e}", precision - 1);
            let exponent = text.split_once('e').and_then(|(_, e)| e.parse().ok());
            exponent.unwrap_or(0_i32)
        }
    };
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= i32::try_from(precision).unwrap_or(i32::MAX) {
        let text = exponential(number, precision - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", without_zeros(mantissa));
    }
    let decimals = i32::try_from(precision).unwrap_or(i32::MAX) - 1 - exponent;
    let decimals = usize::try_from(decimals).unwrap_or_default();
    without_zeros(&format!("{number:.decimals$}"))
}
