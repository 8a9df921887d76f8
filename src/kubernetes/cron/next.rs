//! robfig/cron's `Schedule.Next`.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp, ToSpan};

use crate::local_time::LocalTime;
use crate::schedule::{FieldSchedule, Kind, STAR_BIT, Schedule};

/// Search limit in years; a schedule such as `0 0 30 2 *` has no activation time.
const HORIZON_YEARS: i16 = 5;

impl Schedule {
    /// The first activation time after `after`; `None` if it is more than five years ahead.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let nanos = SignedDuration::from_nanos(i64::from(after.subsec_nanosecond()));
        let second = after.checked_sub(nanos).ok()?;
        match &self.0 {
            Kind::Every(delay) => second.checked_add(*delay).ok(),
            Kind::Fields(schedule) => schedule.next(second.checked_add(1.second()).ok()?),
        }
    }
}

impl FieldSchedule {
    /// The first activation time at or after `from`, a whole second.
    fn next(&self, from: Timestamp) -> Option<Timestamp> {
        let has = |set: u64, value: i8| set & (1 << value) != 0;
        let mut time = LocalTime::new(&self.zone, from);
        let seconds = time.civil().second();
        if seconds > 0 {
            time = time.add(SignedDuration::from_secs(60 - i64::from(seconds)))?;
        }
        let last_year = time.civil().year().saturating_add(HORIZON_YEARS);
        // Set when a field is advanced: then all lower fields start at their minimum.
        let mut advanced = false;
        'wrap: loop {
            if time.civil().year() > last_year {
                return None;
            }
            while !has(self.months, time.civil().month()) {
                let mut civil = time.civil();
                if !std::mem::replace(&mut advanced, true) {
                    civil = midnight(civil).first_of_month();
                }
                time = time.at(civil.checked_add(1.month()).ok()?)?;
                if time.civil().month() == 1 {
                    continue 'wrap;
                }
            }
            while !self.has_day(time.civil()) {
                let mut civil = time.civil();
                if !std::mem::replace(&mut advanced, true) {
                    civil = midnight(civil);
                }
                time = time.at(civil.checked_add(1.day()).ok()?)?;
                // Midnight can be skipped by a time zone transition.
                let hour = i64::from(time.civil().hour());
                if hour != 0 {
                    let hours = if hour > 12 { 24 - hour } else { -hour };
                    time = time.add(SignedDuration::from_hours(hours))?;
                }
                if time.civil().day() == 1 {
                    continue 'wrap;
                }
            }
            while !has(self.hours, time.civil().hour()) {
                if !std::mem::replace(&mut advanced, true) {
                    let civil = time.civil();
                    time = time.at(civil.date().at(civil.hour(), 0, 0, 0))?;
                }
                time = time.add(SignedDuration::from_hours(1))?;
                if time.civil().hour() == 0 {
                    continue 'wrap;
                }
            }
            while !has(self.minutes, time.civil().minute()) {
                advanced = true;
                time = time.add(SignedDuration::from_mins(1))?;
                if time.civil().minute() == 0 {
                    continue 'wrap;
                }
            }
            return Some(time.timestamp());
        }
    }

    /// Whether a Job starts on this day: if both fields of days are restricted, either suffices.
    fn has_day(&self, time: DateTime) -> bool {
        let weekday = time.weekday().to_sunday_zero_offset();
        let by_day_of_month = self.days_of_month & (1 << time.day()) != 0;
        let by_day_of_week = self.days_of_week & (1 << weekday) != 0;
        if (self.days_of_month | self.days_of_week) & STAR_BIT != 0 {
            by_day_of_month && by_day_of_week
        } else {
            by_day_of_month || by_day_of_week
        }
    }
}

fn midnight(time: DateTime) -> DateTime {
    time.date().at(0, 0, 0, 0)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::*;

    fn next(schedule: &str, zone: &str, after: &str) -> String {
        let zone = TimeZone::get(zone).unwrap();
        let schedule = Schedule::parse(schedule, &zone).unwrap();
        let next = schedule.next(after.parse().unwrap());
        next.map_or("never".into(), |at| at.to_string())
    }

    #[test]
    fn next_times() {
        let at = "2026-03-02T12:00:30Z"; // a Monday
        for (schedule, expected) in [
            ("* * * * *", "2026-03-02T12:01:00Z"),
            ("*/15 * * * *", "2026-03-02T12:15:00Z"),
            ("0 0 1 1 *", "2027-01-01T00:00:00Z"),
            ("30 9-17/4 * * MON-FRI", "2026-03-02T13:30:00Z"),
            ("0 0 13 * 5", "2026-03-06T00:00:00Z"),
            ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
            ("0 0 30 2 *", "never"),
            ("@hourly", "2026-03-02T13:00:00Z"),
            ("@every 90m", "2026-03-02T13:30:30Z"),
            ("@every 1.5h", "2026-03-02T13:30:30Z"),
            ("@every 10ms", "2026-03-02T12:00:31Z"),
            ("TZ=Asia/Tokyo 0 6 * * *", "2026-03-02T21:00:00Z"),
        ] {
            assert_eq!(next(schedule, "UTC", at), expected, "{schedule}");
        }
        let half = next("@every 1s", "UTC", "2026-03-02T12:00:30.5Z");
        assert_eq!(half, "2026-03-02T12:00:31Z");
        let exact = next("0 12 * * *", "UTC", "2026-03-02T12:00:00Z");
        assert_eq!(exact, "2026-03-03T12:00:00Z");
    }

    #[test]
    fn either_day_suffices_if_both_are_restricted() {
        let at = "2026-03-02T12:00:30Z"; // a Monday
        for (schedule, expected) in [
            // Odd days of the month or Mondays.
            ("0 0 */2 * 1", "2026-03-03T00:00:00Z"),
            // Mondays only.
            ("0 0 * * 1", "2026-03-09T00:00:00Z"),
            ("0 0 */1 * 1", "2026-03-09T00:00:00Z"),
            // The tenth or every second day of the week.
            ("0 0 10 * */2", "2026-03-03T00:00:00Z"),
        ] {
            assert_eq!(next(schedule, "UTC", at), expected, "{schedule}");
        }
    }

    #[test]
    fn time_zone_transitions() {
        for (schedule, zone, after, expected) in [
            (
                "0 9 * * *",
                "Europe/Berlin",
                "2026-03-02T12:00:00Z",
                "2026-03-03T08:00:00Z",
            ),
            // On March 29th 2026 the clock goes from 2 to 3: half past two is skipped.
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-03-28T12:00:00Z",
                "2026-03-30T00:30:00Z",
            ),
            // On November 1st 2026 half past one occurs twice.
            (
                "30 1 * * *",
                "America/New_York",
                "2026-11-01T00:00:00Z",
                "2026-11-01T05:30:00Z",
            ),
            (
                "30 1 * * *",
                "America/New_York",
                "2026-11-01T05:30:00Z",
                "2026-11-01T06:30:00Z",
            ),
            // Midnight of November 4th 2018 is skipped.
            (
                "0 0 * * *",
                "America/Sao_Paulo",
                "2018-11-03T12:00:00Z",
                "2018-11-05T02:00:00Z",
            ),
        ] {
            assert_eq!(
                next(schedule, zone, after),
                expected,
                "{schedule} after {after}"
            );
        }
    }

    proptest! {
        #[test]
        fn next_is_the_first_matching_minute(
            minute in 0..60i8,
            hours in "\\*|\\*/[1-9]|[0-9]-2[0-3]",
            day in 1..29i8,
            start in 0..100_000_000i64,
        ) {
            let text = format!("{minute} {hours} {day} * *");
            let schedule = Schedule::parse(&text, &TimeZone::UTC).unwrap();
            let after = Timestamp::from_second(1_700_000_000 + start).unwrap();
            let next = schedule.next(after).unwrap();
            prop_assert!(next > after);
            let civil = TimeZone::UTC.to_datetime(next);
            prop_assert_eq!((civil.minute(), civil.day(), civil.second()), (minute, day, 0));
            // The result does not depend on where the search starts.
            let between = Timestamp::from_second(after.as_second().midpoint(next.as_second())).unwrap();
            if between < next {
                prop_assert_eq!(schedule.next(between), Some(next));
            }
        }
    }
}
