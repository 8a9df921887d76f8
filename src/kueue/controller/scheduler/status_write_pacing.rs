//! [`StatusWritePacing`]: limits the rate of the scheduler's status writes to one Workload.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// Writes to a Workload that are not delayed.
const BURST: i32 = 10;
/// Known Workloads beyond which idle ones are removed.
const IDLE_CHECK: usize = 1024;

/// Limits the rate of the scheduler's status writes to one Workload: after a burst, one in each
/// interval. Where each write leads to the next attempt, the loop then runs as fast as upstream's.
#[derive(Debug, Default)]
pub(crate) struct StatusWritePacing(
    /// The time at which the whole burst is available again, by UID.
    Mutex<HashMap<String, Timestamp>>,
);

impl StatusWritePacing {
    /// Records a write to a Workload; returns a delay if there are more than one in an interval.
    pub(super) fn record_write(
        &self,
        uid: &str,
        now: Timestamp,
        interval: Duration,
    ) -> Option<Duration> {
        let interval = SignedDuration::try_from(interval).ok()?;
        if interval.is_zero() {
            return None;
        }
        let mut workloads = self.0.lock();
        if workloads.len() > IDLE_CHECK {
            workloads.retain(|_, idle_at| *idle_at > now);
        }
        let idle_at = workloads.entry(uid.to_owned()).or_insert(now);
        *idle_at = (*idle_at).max(now).saturating_add(interval).unwrap_or(now);
        let excess = idle_at.duration_since(now) - interval * BURST;
        (excess > SignedDuration::ZERO).then(|| excess.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(250);

    #[test]
    fn writes_are_delayed_after_a_burst() {
        let pacing = StatusWritePacing::default();
        let mut now = Timestamp::UNIX_EPOCH;
        for _ in 0..BURST {
            assert_eq!(pacing.record_write("a", now, INTERVAL), None);
        }
        for _ in 0..3 {
            let delay = pacing.record_write("a", now, INTERVAL);
            assert_eq!(delay, Some(INTERVAL));
            now += INTERVAL;
        }
        assert_eq!(pacing.record_write("b", now, INTERVAL), None);
        now += INTERVAL * 11;
        assert_eq!(pacing.record_write("a", now, INTERVAL), None);
    }

    #[test]
    fn nothing_is_delayed_without_an_interval() {
        let pacing = StatusWritePacing::default();
        let now = Timestamp::UNIX_EPOCH;
        for _ in 0..100 {
            assert_eq!(pacing.record_write("a", now, Duration::ZERO), None);
        }
    }
}
