//! robfig/cron's `ParseStandard`.

use std::num::IntErrorKind;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::schedule::{FieldSchedule, Kind, STAR_BIT, Schedule};

/// An invalid schedule, worded as in robfig/cron.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub(crate) String);

/// Minimum and maximum of a field, and the names of its values from the minimum on.
struct Bounds {
    min: u64,
    max: u64,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds::numbers(0, 59);
const HOURS: Bounds = Bounds::numbers(0, 23);
const DAYS_OF_MONTH: Bounds = Bounds::numbers(1, 31);
const MONTHS: Bounds = Bounds {
    min: 1,
    max: 12,
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
};
const DAYS_OF_WEEK: Bounds = Bounds {
    min: 0,
    max: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

impl Bounds {
    const fn numbers(min: u64, max: u64) -> Self {
        Self {
            min,
            max,
            names: &[],
        }
    }
}

impl Schedule {
    /// Parses a schedule. Its fields are in `zone`, unless it starts with `TZ=NAME` or
    /// `CRON_TZ=NAME`.
    ///
    /// # Errors
    /// The schedule is invalid.
    pub fn parse(spec: &str, zone: &TimeZone) -> Result<Self, ParseError> {
        parse(spec, zone).map(Self).map_err(ParseError)
    }
}

fn parse(spec: &str, zone: &TimeZone) -> Result<Kind, String> {
    let (spec, zone) = split_zone(spec, zone)?;
    if spec.is_empty() {
        return Err("empty spec string".into());
    }
    let spec = match spec {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        descriptor if descriptor.starts_with('@') => return every(descriptor).map(Kind::Every),
        fields => fields,
    };
    let fields: Vec<&str> = spec.split_whitespace().collect();
    let [minutes, hours, days_of_month, months, days_of_week] = fields[..] else {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    };
    Ok(Kind::Fields(FieldSchedule {
        minutes: field(minutes, &MINUTES)?,
        hours: field(hours, &HOURS)?,
        days_of_month: field(days_of_month, &DAYS_OF_MONTH)?,
        months: field(months, &MONTHS)?,
        days_of_week: field(days_of_week, &DAYS_OF_WEEK)?,
        zone,
    }))
}

/// Splits `TZ=NAME` or `CRON_TZ=NAME` off.
fn split_zone<'a>(spec: &'a str, default: &TimeZone) -> Result<(&'a str, TimeZone), String> {
    let zoned = spec
        .strip_prefix("TZ=")
        .or_else(|| spec.strip_prefix("CRON_TZ="));
    let Some(zoned) = zoned else {
        return Ok((spec, default.clone()));
    };
    // robfig/cron panics if there is no space.
    let (name, spec) = zoned.split_once(' ').unwrap_or((zoned, ""));
    let zone = match name {
        "" | "UTC" => TimeZone::UTC,
        "Local" => default.clone(),
        name => TimeZone::get(name)
            .map_err(|_| format!("provided bad location {name}: unknown time zone {name}"))?,
    };
    Ok((spec.trim(), zone))
}

/// The delay of `@every DURATION`: whole seconds, at least one.
fn every(descriptor: &str) -> Result<SignedDuration, String> {
    let Some(text) = descriptor.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {descriptor}"));
    };
    let delay: kueue_lab_duration::Duration = text
        .parse()
        .map_err(|error| format!("failed to parse duration {descriptor}: {error}"))?;
    Ok(SignedDuration::from_secs(delay.as_secs().max(1)))
}

/// The bits of a field, a list of ranges.
fn field(text: &str, bounds: &Bounds) -> Result<u64, String> {
    text.split(',')
        .filter(|range| !range.is_empty())
        .try_fold(0, |bits, text| Ok(bits | range(text, bounds)?))
}

/// The bits of `number`, `first-last` or `*`, each with an optional `/step`.
fn range(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = parts[0].split('-').collect();
    let mut star = 0;
    let (first, mut last) = match ends[..] {
        ["*" | "?", ..] => {
            star = STAR_BIT;
            (bounds.min, bounds.max)
        }
        [one] => {
            let one = number_or_name(one, bounds)?;
            (one, one)
        }
        [first, last] => (
            number_or_name(first, bounds)?,
            number_or_name(last, bounds)?,
        ),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    let step = match parts[..] {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            // `N/step` is `N-max/step`.
            if ends.len() == 1 {
                last = bounds.max;
            }
            if step > 1 {
                star = 0;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    let Bounds { min, max, .. } = bounds;
    if first < *min {
        return Err(format!(
            "beginning of range ({first}) below minimum ({min}): {text}"
        ));
    }
    if last > *max {
        return Err(format!(
            "end of range ({last}) above maximum ({max}): {text}"
        ));
    }
    if first > last {
        return Err(format!(
            "beginning of range ({first}) beyond end of range ({last}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    let bits = (first..=last)
        .step_by(step)
        .fold(0, |bits, value| bits | 1 << value);
    Ok(bits | star)
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let name = text.to_lowercase();
    match (bounds.min..).zip(bounds.names).find(|(_, n)| **n == name) {
        Some((value, _)) => Ok(value),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let number: i64 = text.parse().map_err(|error: std::num::ParseIntError| {
        let reason = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {reason}")
    })?;
    u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(spec: &str) -> String {
        match Schedule::parse(spec, &TimeZone::UTC) {
            Ok(schedule) => panic!("{spec}: {schedule:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn valid_schedules() {
        for spec in [
            "* * * * *",
            "*/5 * * * *",
            "0 0 1 1 *",
            "1-5,7 0 ? jan-mar SUN",
            "1,,2 0 * * *",
            "@daily",
            "@every 1h30m",
            "@every 1.5h",
            "@every 10ms",
            "TZ=Asia/Tokyo 0 5 * * *",
            "CRON_TZ=UTC @hourly",
        ] {
            assert!(Schedule::parse(spec, &TimeZone::UTC).is_ok(), "{spec}");
        }
    }

    #[test]
    fn errors_equal_those_of_robfig_cron() {
        for (spec, expected) in [
            ("", "empty spec string"),
            ("whenever", "expected exactly 5 fields, found 1: [whenever]"),
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "a * * * *",
                "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax",
            ),
            (
                "99999999999999999999 * * * *",
                "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \
                 \"99999999999999999999\": value out of range",
            ),
            ("1--2 * * * *", "too many hyphens: 1--2"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
            ("@never", "unrecognized descriptor: @never"),
            ("@reboot", "unrecognized descriptor: @reboot"),
            (
                "@every 1d",
                "failed to parse duration @every 1d: time: unknown unit \"d\" in duration \"1d\"",
            ),
            (
                "TZ=Nowhere/There * * * * *",
                "provided bad location Nowhere/There: unknown time zone Nowhere/There",
            ),
        ] {
            assert_eq!(error(spec), expected, "{spec}");
        }
    }

    #[test]
    fn a_step_above_one_clears_the_star_bit() {
        let starred = |text: &str| field(text, &DAYS_OF_MONTH).unwrap() & STAR_BIT != 0;
        assert!(starred("*") && starred("?") && starred("*/1") && starred("1,*"));
        assert!(!starred("*/2") && !starred("1-31") && !starred("1/2"));
    }

    proptest::proptest! {
        #[test]
        fn parse_never_panics(spec in "\\PC{0,20}|[-0-9*?/, @a-zA-Z=]{0,40}") {
            let _ = Schedule::parse(&spec, &TimeZone::UTC);
        }
    }
}
