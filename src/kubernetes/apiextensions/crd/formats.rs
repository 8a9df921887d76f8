//! String formats of `openAPIV3Schema`, go-openapi's `strfmt`.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use regex::Regex;

use kueue_lab_field::name_validation;

/// The normalized format, without dashes; empty if it is not supported for the type.
pub(super) fn supported(json_type: &str, format: &str) -> &'static str {
    const STRINGS: [&str; 26] = [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "date-time",
        "k8s-short-name",
        "k8s-long-name",
    ];
    let plain = |s: &str| s.replace('-', "");
    let known: &[&str] = match json_type {
        "" | "string" => &STRINGS,
        "integer" => &["int32", "int64"],
        "number" => &["float", "double"],
        _ => &[],
    };
    let wanted = plain(format);
    known
        .iter()
        .find(|f| plain(f) == wanted)
        .copied()
        .unwrap_or_default()
}

/// A regular expression that is compiled on first use: some use megabytes, most are never used.
struct Pattern {
    format: &'static str,
    text: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    const fn new(format: &'static str, text: &'static str) -> Self {
        Self {
            format,
            text,
            compiled: OnceLock::new(),
        }
    }

    fn is_match(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(self.text).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

static PATTERNS: [Pattern; 14] = [
    Pattern::new("bsonobjectid", "^[0-9a-fA-F]{24}$"),
    Pattern::new(
        "hostname",
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    ),
    Pattern::new(
        "mac",
        r"^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$|^([0-9a-fA-F]{2}[:-]){7}[0-9a-fA-F]{2}$|^([0-9a-fA-F]{4}\.){2,3}[0-9a-fA-F]{4}$",
    ),
    Pattern::new(
        "uuid",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
    ),
    Pattern::new(
        "uuid3",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
    ),
    Pattern::new(
        "uuid4",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
    Pattern::new(
        "uuid5",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
    Pattern::new(
        "creditcard",
        r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$",
    ),
    Pattern::new("ssn", r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"),
    Pattern::new("hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    Pattern::new(
        "rgbcolor",
        r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$",
    ),
    Pattern::new(
        "byte",
        r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$",
    ),
    Pattern::new("email", r"^[^\s@<>]+@[^\s@<>]+$|^.*<[^\s@<>]+@[^\s@<>]+>$"),
    Pattern::new("duration", r"^(\d+)\s*([A-Za-zµ]+)$"),
];

fn pattern(format: &str, text: &str) -> bool {
    PATTERNS
        .iter()
        .any(|pattern| pattern.format == format && pattern.is_match(text))
}

/// Whether the text matches the format.
pub(super) fn matches(format: &str, text: &str) -> bool {
    match format {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "hostname" => {
            pattern(format, text) && text.len() <= 255 && text.split('.').all(|p| p.len() <= 63)
        }
        "uri" => text.starts_with('/') || text.contains(':') && !text.contains(char::is_whitespace),
        "creditcard" => {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            pattern(format, &digits) && luhn(&digits)
        }
        "isbn" => isbn10(text) || isbn13(text),
        "isbn10" => isbn10(text),
        "isbn13" => isbn13(text),
        "date" => is_date(text),
        "date-time" => is_date_time(text),
        "duration" => is_duration(text),
        "k8s-short-name" => name_validation::dns1123_label(text).is_empty(),
        "k8s-long-name" => name_validation::dns1123_subdomain(text).is_empty(),
        "password" => true,
        other => pattern(other, text),
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = if address.parse::<Ipv4Addr>().is_ok() {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    bits.parse::<u8>()
        .is_ok_and(|b| b <= most && b.to_string() == bits)
}

fn is_date(text: &str) -> bool {
    has_shape(text, "dddd-dd-dd") && text.parse::<jiff::civil::Date>().is_ok()
}

/// Whether the text has the length and the characters of the shape, in which `d` is any digit.
fn has_shape(text: &str, shape: &str) -> bool {
    let mut pairs = text.bytes().zip(shape.bytes());
    text.len() == shape.len()
        && pairs.all(|(byte, wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            wanted => byte == wanted,
        })
}

/// Whether the text is a time in lower case:
/// `^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$`. The dot of upstream's
/// expression is any character.
fn is_time(text: &str) -> bool {
    let is_zone =
        |text: &str| text == "z" || has_shape(text, "+dd:dd") || has_shape(text, "-dd:dd");
    let Some((time, rest)) = text.split_at_checked("dd:dd:dd".len()) else {
        return false;
    };
    let with_fraction = || {
        let mut rest = rest.chars();
        let is_separator = rest.next().is_some_and(|c| c != '\n');
        let rest = rest.as_str();
        let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        is_separator && zone.len() < rest.len() && is_zone(zone)
    };
    has_shape(time, "dd:dd:dd") && (is_zone(rest) || with_fraction())
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let Some((date, time)) = text.split_once('t') else {
        return false;
    };
    let part = |range| time.get(range).unwrap_or_default();
    is_date(date) && is_time(time) && part(0..2) <= "23" && part(3..5) <= "59" && part(6..8) <= "59"
}

fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 18] = [
        "ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "sec", "m", "min", "h", "hr",
        "hour", "d", "day", "w", "week",
    ];
    if text.parse::<kueue_lab_duration::Duration>().is_ok() {
        return true;
    }
    let unit = text
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start();
    let unit = unit
        .strip_suffix('s')
        .filter(|u| u.len() > 1)
        .unwrap_or(unit);
    pattern("duration", text) && (UNITS.contains(&unit) || unit == "second" || unit == "minute")
}

fn luhn(digits: &str) -> bool {
    let mut sum = 0;
    for (i, d) in digits.bytes().rev().enumerate() {
        let d = u32::from(d - b'0') * if i % 2 == 1 { 2 } else { 1 };
        sum += if d > 9 { d - 9 } else { d };
    }
    sum % 10 == 0
}

fn isbn_digits(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .collect()
}

fn isbn10(text: &str) -> bool {
    let text = isbn_digits(text);
    if text.len() != 10 {
        return false;
    }
    let mut sum = 0;
    for (i, c) in text.chars().enumerate() {
        let Some(d) = c.to_digit(10).or((i == 9 && c == 'X').then_some(10)) else {
            return false;
        };
        sum += d * (u32::try_from(i).unwrap_or(0) + 1);
    }
    sum % 11 == 0
}

fn isbn13(text: &str) -> bool {
    let text = isbn_digits(text);
    if text.len() != 13 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let weigh = |(i, b): (usize, u8)| u32::from(b - b'0') * if i % 2 == 0 { 1 } else { 3 };
    text.bytes().enumerate().map(weigh).sum::<u32>() % 10 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_checked() {
        let good = [
            ("date-time", "2026-01-01T00:00:00Z"),
            ("date-time", "2026-01-01T00:00:00.5+02:00"),
            ("date-time", "2026-01-01t00:00:00-02:00"),
            ("date-time", "2026-01-01T00:00:00,123z"),
            ("date", "2024-02-29"),
            ("duration", "1h30m"),
            ("duration", "22 ns"),
            ("duration", "3 hours"),
            ("ipv4", "10.0.0.1"),
            ("ipv6", "::1"),
            ("cidr", "10.0.0.0/8"),
            ("mac", "01:23:45:67:89:ab"),
            ("uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
            ("isbn", "978-0321751041"),
            ("isbn10", "0321751043"),
            ("creditcard", "4111 1111 1111 1111"),
            ("hexcolor", "#FFFFFF"),
            ("byte", "aGVsbG8="),
            ("email", "a@b.c"),
            ("hostname", "example.com"),
            ("k8s-short-name", "abc"),
        ];
        for (format, text) in good {
            assert!(matches(format, text), "{format} {text}");
        }
        let bad = [
            ("date-time", "yesterday"),
            ("date-time", "2026-01-01"),
            ("date-time", "2026-01-01T25:00:00Z"),
            ("date-time", "2026-01-01T00:00:00"),
            ("date-time", "2026-01-01T00:00:00.Z"),
            ("date-time", "2026-01-01T00:00:00+02"),
            ("date-time", "2026-01-01T00:00:00Z "),
            ("date-time", "2026-01-01T0é:00:00Z"),
            ("date", "2026-02-30"),
            ("date", "2026-2-03"),
            ("duration", "soon"),
            ("ipv4", "10.0.0.256"),
            ("cidr", "10.0.0.0/33"),
            ("creditcard", "4111 1111 1111 1112"),
            ("byte", "a=b"),
            ("uuid4", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ];
        for (format, text) in bad {
            assert!(!matches(format, text), "{format} {text}");
        }
        assert_eq!(supported("string", "datetime"), "date-time");
        assert_eq!(supported("string", "int32"), "");
        assert_eq!(supported("integer", "int32"), "int32");
    }
}
