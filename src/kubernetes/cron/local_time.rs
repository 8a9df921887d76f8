//! Local times as Go's package `time` computes them, in a gap or overlap of a time zone too.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A timestamp in a time zone, Go's `time.Time`.
pub(crate) struct LocalTime<'a> {
    zone: &'a TimeZone,
    timestamp: Timestamp,
}

impl<'a> LocalTime<'a> {
    pub(crate) fn new(zone: &'a TimeZone, timestamp: Timestamp) -> Self {
        Self { zone, timestamp }
    }

    pub(crate) fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    pub(crate) fn civil(&self) -> DateTime {
        self.zone.to_datetime(self.timestamp)
    }

    /// Go's `Time.Add`. `None` beyond the range of timestamps.
    pub(crate) fn add(&self, span: SignedDuration) -> Option<Self> {
        let timestamp = self.timestamp.checked_add(span).ok()?;
        Some(Self::new(self.zone, timestamp))
    }

    /// Go's `time.Date`: a local time that is skipped or repeated gets one of the two offsets.
    pub(crate) fn at(&self, civil: DateTime) -> Option<Self> {
        let as_utc = TimeZone::UTC.to_timestamp(civil).ok()?;
        let offset = |at| SignedDuration::from_secs(self.zone.to_offset(at).seconds().into());
        let guess = as_utc.checked_sub(offset(as_utc)).ok()?;
        let timestamp = as_utc.checked_sub(offset(guess)).ok()?;
        Some(Self::new(self.zone, timestamp))
    }
}
