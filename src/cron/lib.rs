//! Cron schedules as robfig/cron parses and evaluates them, the library of Kubernetes' CronJobs:
//! five fields, descriptors such as `@daily`, and `@every DURATION`.
//!
//! Used by the API server's validation and by the CronJob controller. Must not know either.

mod local_time;
mod next;
mod parse;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// The schedule of a CronJob, robfig/cron's `Schedule`.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Fields(FieldSchedule),
    /// A constant delay in whole seconds, at least one (robfig/cron: `ConstantDelaySchedule`).
    Every(SignedDuration),
}

/// robfig/cron's `SpecSchedule`: one bit for each value of a field.
#[derive(Clone, Debug, PartialEq)]
struct FieldSchedule {
    minutes: u64,
    hours: u64,
    days_of_month: u64,
    months: u64,
    days_of_week: u64,
    zone: TimeZone,
}

/// Set in a field that contains `*` or `?` without a step above 1.
const STAR_BIT: u64 = 1 << 63;

/// An invalid schedule, worded as in robfig/cron.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);
