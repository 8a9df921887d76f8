//! Encoding of times: parsed strictly as RFC 3339 with Go's error messages, written in UTC.

use jiff::Timestamp;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// A text that is not a time, with Go's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseTimeError {
    /// A part does not have the form of the layout.
    #[error("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")]
    Layout {
        /// The text.
        text: String,
        /// The layout.
        layout: &'static str,
        /// The text from the part on.
        rest: String,
        /// The part of the layout.
        part: &'static str,
    },
    /// A part is out of range.
    #[error("parsing time {text:?}: {part} out of range")]
    Range {
        /// The text.
        text: String,
        /// The part.
        part: &'static str,
    },
    /// There is text after the time.
    #[error("parsing time {text:?}: extra text: {rest:?}")]
    Extra {
        /// The text.
        text: String,
        /// The text after the time.
        rest: String,
    },
}

/// Converts a `metav1.Time` to canonical form; `None` for the zero time.
///
/// # Errors
/// The text is not a time.
pub(crate) fn canonical(text: &str) -> Result<Option<String>, ParseTimeError> {
    Ok(read(text, SECONDS)?.map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// As [`canonical`] for a `metav1.MicroTime`.
///
/// # Errors
/// The text is not a time.
pub(crate) fn canonical_micro(text: &str) -> Result<Option<String>, ParseTimeError> {
    Ok(read(text, MICROS)?.map(|t| t.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()))
}

fn read(text: &str, layout: &'static str) -> Result<Option<Timestamp>, ParseTimeError> {
    let out_of_range = |part| ParseTimeError::Range {
        text: text.to_owned(),
        part,
    };
    if let Err((rest, want)) = follow(text, layout == MICROS) {
        let (given, rest) = (text.to_owned(), rest.to_owned());
        return Err(match want {
            Mismatch::Layout(part) => ParseTimeError::Layout {
                text: given,
                layout,
                rest,
                part,
            },
            Mismatch::Range(part) => out_of_range(part),
            Mismatch::Extra => ParseTimeError::Extra { text: given, rest },
        });
    }
    let time: Timestamp = text.parse().map_err(|_| out_of_range("day"))?;
    Ok((time.as_second() != -62_135_596_800).then_some(time))
}

/// Why the remaining text does not follow the layout.
enum Mismatch {
    Layout(&'static str),
    Range(&'static str),
    Extra,
}

/// Parses the text by Go's time layout; an error contains the remaining text.
fn follow(text: &str, micros: bool) -> Result<(), (&str, Mismatch)> {
    let mut rest = text;
    let parts: [(&'static str, usize, &'static str, u32, u32); 6] = [
        ("2006", 4, "year", 0, 9999),
        ("01", 2, "month", 1, 12),
        ("02", 2, "day", 1, 31),
        ("15", 2, "hour", 0, 23),
        ("04", 2, "minute", 0, 59),
        ("05", 2, "second", 0, 59),
    ];
    let separators = ["-", "-", "T", ":", ":", ""];
    for ((layout, width, name, low, high), separator) in parts.into_iter().zip(separators) {
        let (digits, after) = rest
            .split_at_checked(width)
            .ok_or((rest, Mismatch::Layout(layout)))?;
        let number = digits.bytes().all(|b| b.is_ascii_digit());
        let value: u32 = digits.parse().ok().filter(|_| number).unwrap_or(u32::MAX);
        if !number {
            return Err((rest, Mismatch::Layout(layout)));
        }
        if value < low || value > high {
            return Err((rest, Mismatch::Range(name)));
        }
        rest = after
            .strip_prefix(separator)
            .ok_or((after, Mismatch::Layout(separator)))?;
    }
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(after) = rest.strip_prefix('.').filter(|a| digits(a) > 0) {
        if micros && digits(after) < 6 {
            return Err((rest, Mismatch::Layout(".000000")));
        }
        rest = &after[digits(after)..];
    } else if micros {
        return Err((rest, Mismatch::Layout(".000000")));
    }
    let zone = match rest.as_bytes() {
        [b'Z', ..] => 1,
        [b'+' | b'-', a, b, b':', c, d, ..] if [a, b, c, d].iter().all(|x| x.is_ascii_digit()) => 6,
        _ => return Err((rest, Mismatch::Layout("Z07:00"))),
    };
    if rest.len() > zone {
        Err((&rest[zone..], Mismatch::Extra))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        let cases = [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"),
        ];
        for (from, to) in cases {
            assert_eq!(canonical(from).unwrap().unwrap(), to);
        }
        assert_eq!(canonical("0001-01-01T00:00:00Z"), Ok(None));
        let micro = canonical_micro("2026-01-02T03:04:05.123456Z")
            .unwrap()
            .unwrap();
        assert_eq!(micro, "2026-01-02T03:04:05.123456Z");
    }

    #[test]
    fn errors_are_those_of_go() {
        let text = |s| canonical(s).unwrap_err().to_string();
        let layout = "\"2006-01-02T15:04:05Z07:00\"";
        assert_eq!(
            text("yesterday"),
            format!(
                "parsing time \"yesterday\" as {layout}: cannot parse \"yesterday\" as \"2006\""
            )
        );
        assert_eq!(
            text("2026-01-02"),
            format!("parsing time \"2026-01-02\" as {layout}: cannot parse \"\" as \"T\"")
        );
        assert_eq!(
            text("2026-13-02T00:00:00Z"),
            "parsing time \"2026-13-02T00:00:00Z\": month out of range"
        );
        assert_eq!(
            canonical_micro("2026-01-02T03:04:05Z")
                .unwrap_err()
                .to_string(),
            "parsing time \"2026-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"Z\" as \".000000\""
        );
    }
}
