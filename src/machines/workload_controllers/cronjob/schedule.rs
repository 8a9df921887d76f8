//! Schedules of CronJobs: five fields of cron, or a word such as `@hourly`.

use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// How far ahead a next time is looked for, in years: February 29th may be eight years away.
const HORIZON: i16 = 9;

/// When something is to happen, again and again.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Schedule {
    /// At every minute whose fields are in the sets, which are bit sets.
    Fields {
        minutes: u64,
        hours: u64,
        days: u64,
        months: u64,
        weekdays: u64,
        /// Whether days and weekdays are both restricted; then either suffices.
        either_day: bool,
        zone: TimeZone,
    },
    /// Ever so often.
    Every(Duration),
}

impl Schedule {
    /// Reads a schedule, in a time zone.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(super) fn parse(text: &str, zone: &TimeZone) -> Result<Self, String> {
        if let Some(duration) = text.strip_prefix("@every ") {
            return parse_duration(duration)
                .map(Self::Every)
                .ok_or_else(|| format!("failed to parse duration @every {duration}"));
        }
        let text = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            word if word.starts_with('@') => {
                return Err(format!("unrecognized descriptor: {word}"));
            }
            fields => fields,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            let found = fields.len();
            return Err(format!(
                "expected exactly 5 fields, found {found}: {fields:?}"
            ));
        };
        const MONTHS: [&str; 12] = [
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ];
        const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
        let free = |field: &str| field.starts_with('*') || field == "?";
        Ok(Self::Fields {
            minutes: set(minutes, 0, 59, &[])?,
            hours: set(hours, 0, 23, &[])?,
            days: set(days, 1, 31, &[])?,
            months: set(months, 1, 12, &MONTHS)?,
            weekdays: set(weekdays, 0, 6, &DAYS)?,
            either_day: !free(days) && !free(weekdays),
            zone: zone.clone(),
        })
    }

    /// The first time after `status_after`, if there is one.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let (minutes, hours, months, zone) = match self {
            Self::Every(period) => {
                let period = SignedDuration::try_from(*period).ok()?;
                return kueue_lab_clock::whole_seconds(after)
                    .checked_add(period)
                    .ok();
            }
            Self::Fields {
                minutes,
                hours,
                months,
                zone,
                ..
            } => (minutes, hours, months, zone),
        };
        let has = |set: &u64, value: i8| set & (1 << value) != 0;
        let local = zone.to_datetime(after);
        let mut date: Date = local.date();
        let last = date.year().saturating_add(HORIZON);
        let mut from = Some(local);
        while date.year() <= last {
            if has(months, date.month()) && self.has_day(date) {
                for hour in (0..24i8).filter(|h| has(hours, *h)) {
                    for minute in (0..60i8).filter(|m| has(minutes, *m)) {
                        let time: DateTime = date.at(hour, minute, 0, 0);
                        if from.is_some_and(|local| time <= local) {
                            continue;
                        }
                        // A time that a change of clocks skips does not happen.
                        let at = zone.to_ambiguous_timestamp(time).compatible().ok()?;
                        if zone.to_datetime(at) == time && at > after {
                            return Some(at);
                        }
                    }
                }
            }
            from = None;
            date = date.checked_add(1.day()).ok()?;
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let Self::Fields {
            days,
            weekdays,
            either_day,
            ..
        } = self
        else {
            return false;
        };
        let by_day = days & (1 << date.day()) != 0;
        let by_weekday = weekdays & (1 << date.weekday().to_sunday_zero_offset()) != 0;
        if *either_day {
            by_day || by_weekday
        } else {
            by_day && by_weekday
        }
    }
}

/// The numbers a field means, as bits.
fn set(field: &str, least: u32, most: u32, names: &[&str]) -> Result<u64, String> {
    let mut bits = 0u64;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(number(step, &[], 0)?)),
            None => (part, None),
        };
        if step == Some(0) {
            return Err(format!("step of range should be a positive number: {part}"));
        }
        let (first, last) = match range {
            "*" | "?" => (least, most),
            range => match range.split_once('-') {
                Some((first, last)) => (number(first, names, least)?, number(last, names, least)?),
                None => {
                    let only = number(range, names, least)?;
                    (only, if step.is_some() { most } else { only })
                }
            },
        };
        if first < least {
            return Err(format!(
                "beginning of range ({first}) below minimum ({least}): {part}"
            ));
        }
        if last > most {
            return Err(format!(
                "end of range ({last}) above maximum ({most}): {part}"
            ));
        }
        if first > last {
            return Err(format!(
                "beginning of range ({first}) beyond end of range ({last}): {part}"
            ));
        }
        for value in (first..=last).step_by(step.unwrap_or(1) as usize) {
            bits |= 1 << value;
        }
    }
    Ok(bits)
}

fn number(text: &str, names: &[&str], least: u32) -> Result<u32, String> {
    let name = text.to_ascii_lowercase();
    if let Some(at) = names.iter().position(|n| *n == name) {
        return Ok(at as u32 + least);
    }
    text.parse()
        .map_err(|_| format!("failed to parse int from {text}"))
}

/// A duration as Go writes it: `1h30m`.
fn parse_duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: u64 = rest.get(..digits)?.parse().ok()?;
        let tail = rest.get(digits..)?;
        let letters = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let seconds = match tail.get(..letters)? {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return None,
        };
        total = total.checked_add(Duration::from_secs(count.checked_mul(seconds)?))?;
        rest = tail.get(letters..)?;
    }
    Some(total).filter(|t| *t >= Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, zone: &str, after: &str) -> String {
        let zone = TimeZone::get(zone).unwrap();
        let schedule = Schedule::parse(schedule, &zone).unwrap();
        schedule.next(after.parse().unwrap()).unwrap().to_string()
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
            ("@hourly", "2026-03-02T13:00:00Z"),
            ("@every 90m", "2026-03-02T13:30:30Z"),
        ] {
            assert_eq!(next(schedule, "UTC", at), expected, "{schedule}");
        }
    }

    #[test]
    fn time_zones_and_clock_changes() {
        let zone = "Europe/Berlin";
        assert_eq!(
            next("0 9 * * *", zone, "2026-03-02T12:00:00Z"),
            "2026-03-03T08:00:00Z"
        );
        // On March 29th 2026 the clock goes from 2 to 3: half past two is not.
        assert_eq!(
            next("30 2 * * *", zone, "2026-03-28T12:00:00Z"),
            "2026-03-30T00:30:00Z"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let parse = |text: &str| Schedule::parse(text, &TimeZone::UTC).unwrap_err();
        assert_eq!(
            parse("whenever"),
            "expected exactly 5 fields, found 1: [\"whenever\"]"
        );
        assert!(parse("60 * * * *").contains("above maximum (59)"));
        assert!(parse("*/0 * * * *").contains("positive"));
        assert!(parse("@sometimes").contains("unrecognized"));
    }
}
