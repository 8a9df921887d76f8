//! Encoding of times: parsed strictly as RFC 3339 with Go's error messages, written in UTC.

use jiff::Timestamp;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Converts a `metav1.Time` to canonical form; `None` for the zero time.
///
/// # Errors
/// Go's parse error.
pub(crate) fn canonical(text: &str) -> Result<Option<String>, String> {
    Ok(read(text, SECONDS)?.map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// As [`canonical`] for a `metav1.MicroTime`.
///
/// # Errors
/// Go's parse error.
pub(crate) fn canonical_micro(text: &str) -> Result<Option<String>, String> {
    Ok(read(text, MICROS)?.map(|t| t.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()))
}

fn read(text: &str, layout: &str) -> Result<Option<Timestamp>, String> {
    if let Err((rest, want)) = follow(text, layout == MICROS) {
        return Err(match want {
            ParseError::Layout(part) => {
                format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")
            }
            ParseError::Range(part) => format!("parsing time {text:?}: {part} out of range"),
            ParseError::Extra => format!("parsing time {text:?}: extra text: {rest:?}"),
        });
    }
    let time: Timestamp = text
        .parse()
        .map_err(|_| format!("parsing time {text:?}: day out of range"))?;
    Ok((time.as_second() != -62_135_596_800).then_some(time))
}

enum ParseError {
    Layout(&'static str),
    Range(&'static str),
    Extra,
}

/// Parses the text by Go's time layout; an error contains the remaining text.
fn follow(text: &str, micros: bool) -> Result<(), (&str, ParseError)> {
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
            .ok_or((rest, ParseError::Layout(layout)))?;
        let number = digits.bytes().all(|b| b.is_ascii_digit());
        let value: u32 = digits.parse().ok().filter(|_| number).unwrap_or(u32::MAX);
        if !number {
            return Err((rest, ParseError::Layout(layout)));
        }
        if value < low || value > high {
            return Err((rest, ParseError::Range(name)));
        }
        rest = after
            .strip_prefix(separator)
            .ok_or((after, ParseError::Layout(separator)))?;
    }
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(after) = rest.strip_prefix('.').filter(|a| digits(a) > 0) {
        if micros && digits(after) < 6 {
            return Err((rest, ParseError::Layout(".000000")));
        }
        rest = &after[digits(after)..];
    } else if micros {
        return Err((rest, ParseError::Layout(".000000")));
    }
    let zone = match rest.as_bytes() {
        [b'Z', ..] => 1,
        [b'+' | b'-', a, b, b':', c, d, ..] if [a, b, c, d].iter().all(|x| x.is_ascii_digit()) => 6,
        _ => return Err((rest, ParseError::Layout("Z07:00"))),
    };
    if rest.len() > zone {
        Err((&rest[zone..], ParseError::Extra))
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
        let text = |s| canonical(s).unwrap_err();
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
            canonical_micro("2026-01-02T03:04:05Z").unwrap_err(),
            "parsing time \"2026-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"Z\" as \".000000\""
        );
    }
}
