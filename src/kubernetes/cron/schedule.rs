//! [`Schedule`]: the schedule of a CronJob.

use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// The schedule of a CronJob, robfig/cron's `Schedule`.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule(pub(crate) Kind);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Fields(FieldSchedule),
    /// A constant delay in whole seconds, at least one (robfig/cron: `ConstantDelaySchedule`).
    Every(SignedDuration),
}

/// robfig/cron's `SpecSchedule`: one bit for each value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldSchedule {
    pub(crate) minutes: u64,
    pub(crate) hours: u64,
    pub(crate) days_of_month: u64,
    pub(crate) months: u64,
    pub(crate) days_of_week: u64,
    pub(crate) zone: TimeZone,
}

/// Set in a field that contains `*` or `?` without a step above 1.
pub(crate) const STAR_BIT: u64 = 1 << 63;
