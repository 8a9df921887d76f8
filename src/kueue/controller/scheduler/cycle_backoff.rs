//! [`CycleBackoff`]: the backoff between scheduling cycles.

use jiff::{SignedDuration, Timestamp};

const INITIAL_BACKOFF: SignedDuration = SignedDuration::from_millis(1);
const MAX_BACKOFF: SignedDuration = SignedDuration::from_millis(10);

/// The backoff between scheduling cycles: none after a cycle with progress, otherwise 1 ms, 2 ms
/// and so on up to 10 ms.
#[derive(Debug, Default)]
pub(super) struct CycleBackoff {
    delay: Option<SignedDuration>,
}

impl CycleBackoff {
    /// The earliest start of the cycle after the one that starts now.
    pub(super) fn next_cycle_at(&mut self, now: Timestamp) -> Timestamp {
        let Some(wait) = self.delay else {
            return now;
        };
        self.delay = Some(wait.saturating_mul(2).min(MAX_BACKOFF));
        now.saturating_add(wait).unwrap_or(now)
    }

    /// Records whether a cycle made progress.
    pub(super) fn record_progress(&mut self, progress: bool) {
        if progress {
            self.delay = None;
        } else {
            self.delay.get_or_insert(INITIAL_BACKOFF);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_to_ten_milliseconds_without_progress() {
        let mut backoff = CycleBackoff::default();
        let now = Timestamp::UNIX_EPOCH;
        let mut starts = Vec::new();
        for progress in [false, false, false, false, false, false, true, false] {
            starts.push(backoff.next_cycle_at(now).as_millisecond());
            backoff.record_progress(progress);
        }
        starts.push(backoff.next_cycle_at(now).as_millisecond());
        assert_eq!(starts, [0, 1, 2, 4, 8, 10, 10, 0, 1]);
    }
}
