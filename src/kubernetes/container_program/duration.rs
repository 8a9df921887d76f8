//! Durations of commands and annotations.

use std::time::Duration;

/// A duration as commands and annotations write it: `30`, `1.5`, `10s`, `500ms`, `2m`, `1h30m`.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<f64>() {
        return seconds_to_duration(seconds);
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        rest = &rest[letters..];
        total += number * unit;
    }
    seconds_to_duration(total)
}

fn seconds_to_duration(seconds: f64) -> Option<Duration> {
    // No lab runs longer than a century.
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(3.2e9)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, expected) in [
            ("30", Some(30_000)),
            ("1.5", Some(1_500)),
            ("10s", Some(10_000)),
            ("1h30m", Some(5_400_000)),
            ("250ms", Some(250)),
            ("soon", None),
            ("-3", None),
            ("5 apples", None),
        ] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(duration(text), expected, "{text}");
        }
    }
}
