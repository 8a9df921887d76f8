//! Times and durations in the format of `kubectl`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A number of seconds in at most two units, as `kubectl get` prints ages: `45s`, `5m10s`, `3h12m`,
/// `2d4h`, `400d`, `3y10d`. Negative durations are shown as `0s`.
pub(crate) fn human_duration(seconds: i64) -> String {
    let s = seconds.max(0);
    let (m, h, d) = (s / 60, s / 3_600, s / 86_400);
    let two = |a: i64, unit_a: char, b: i64, unit_b: char| {
        if b == 0 {
            format!("{a}{unit_a}")
        } else {
            format!("{a}{unit_a}{b}{unit_b}")
        }
    };
    if s < 120 {
        format!("{s}s")
    } else if m < 10 {
        two(m, 'm', s % 60, 's')
    } else if m < 180 {
        format!("{m}m")
    } else if h < 8 {
        two(h, 'h', m % 60, 'm')
    } else if h < 48 {
        format!("{h}h")
    } else if d < 8 {
        two(d, 'd', h % 24, 'h')
    } else if d < 730 {
        format!("{d}d")
    } else if d < 365 * 8 {
        two(d / 365, 'y', d % 365, 'd')
    } else {
        format!("{}y", d / 365)
    }
}

/// The age of an object; a dash if unknown.
pub(crate) fn age(now: Timestamp, then: Option<Timestamp>) -> String {
    match then {
        Some(then) => human_duration(now.duration_since(then).as_secs()),
        None => "-".to_owned(),
    }
}

/// The time of day in a time zone, to the second.
pub(crate) fn clock_time(at: Timestamp, zone: &TimeZone) -> String {
    zone.to_datetime(at).time().strftime("%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (310, "5m10s"),
            (600, "10m"),
            (10_740, "179m"),
            (10_800, "3h"),
            (11_580, "3h13m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (864_000, "10d"),
            (63_072_000, "2y"),
            (94_694_400, "3y1d"),
            (315_360_000, "10y"),
            (i64::MAX, "292471208677y"),
        ] {
            assert_eq!(human_duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn the_time_of_day_follows_the_zone() {
        let at: Timestamp = "2026-03-02T12:04:31.9Z".parse().unwrap();
        assert_eq!(clock_time(at, &TimeZone::UTC), "12:04:31");
        assert_eq!(
            clock_time(at, &TimeZone::fixed(jiff::tz::offset(2))),
            "14:04:31"
        );
    }
}
