//! [`StatusWritePacing`]: limits the rate of the scheduler's status writes to one Workload.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// Writes to a Workload that are not delayed.
const BURST: i32 = 10;
/// Known Workloads beyond which idle ones are removed.
const IDLE_CHECK: usize = 1024;

/// Limits the rate of the scheduler's status writes to one Workload: after a burst, one in each interval.
/// Where each write leads to the next attempt, the loop then runs as fast as upstream's.
#[derive(Debug, Default)]
pub(crate) struct StatusWritePacing(Mutex<HashMap<String, RecentWrites>>);

#[derive(Debug)]
struct RecentWrites {
    /// When the whole burst is available again.
    idle_at: Timestamp,
    /// Whether a write was delayed since.
    delayed: bool,
}

/// The delay after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacedWrite {
    /// How long to wait.
    pub delay: Duration,
    /// Whether the loop was not known before.
    pub new_loop: bool,
}

impl StatusWritePacing {
    /// Records a write to a Workload; returns a delay if there are more than one in an interval.
    pub(super) fn record_write(
        &self,
        uid: &str,
        now: Timestamp,
        interval: Duration,
    ) -> Option<PacedWrite> {
        let interval = SignedDuration::try_from(interval).ok()?;
        if interval.is_zero() {
            return None;
        }
        let mut workloads = self.0.lock();
        if workloads.len() > IDLE_CHECK {
            workloads.retain(|_, recent| recent.idle_at > now);
        }
        let recent = workloads.entry(uid.to_owned()).or_insert(RecentWrites {
            idle_at: now,
            delayed: false,
        });
        if recent.idle_at <= now {
            *recent = RecentWrites {
                idle_at: now,
                delayed: false,
            };
        }
        recent.idle_at = recent.idle_at.saturating_add(interval).unwrap_or(now);
        let excess = recent.idle_at.duration_since(now) - interval * BURST;
        if excess <= SignedDuration::ZERO {
            return None;
        }
        Some(PacedWrite {
            delay: excess.unsigned_abs(),
            new_loop: !std::mem::replace(&mut recent.delayed, true),
        })
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
        for new_loop in [true, false, false] {
            let paced = pacing.record_write("a", now, INTERVAL);
            let delay = INTERVAL;
            assert_eq!(paced, Some(PacedWrite { delay, new_loop }));
            now += delay;
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
