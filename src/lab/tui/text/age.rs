//! Times and durations in the format of `kubectl`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A number of seconds as `kubectl get` prints ages. Negative durations are shown as `0s`.
pub(crate) fn human_duration(seconds: i64) -> String {
    kueue_lab_duration::human_duration(seconds.max(0))
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
    fn a_negative_duration_is_0s() {
        assert_eq!(human_duration(-5), "0s");
        assert_eq!(human_duration(130), "2m10s");
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
