//! [`CycleBackoff`]: how soon a cycle may follow the one before.

use jiff::{SignedDuration, Timestamp};

const FIRST: SignedDuration = SignedDuration::from_millis(1);
const MOST: SignedDuration = SignedDuration::from_millis(10);

/// How soon a cycle may follow the one before: at once after one that got somewhere, otherwise after
/// 1 ms, 2 ms and so on up to 10 ms.
#[derive(Debug, Default)]
pub struct CycleBackoff {
    delay: Option<SignedDuration>,
}

impl CycleBackoff {
    /// When the cycle after the one that starts now may begin.
    pub fn next_cycle_at(&mut self, now: Timestamp) -> Timestamp {
        let Some(wait) = self.delay else {
            return now;
        };
        self.delay = Some(wait.saturating_mul(2).min(MOST));
        now.saturating_add(wait).unwrap_or(now)
    }

    /// Takes note of whether a cycle got anywhere.
    pub fn record_progress(&mut self, progress: bool) {
        if progress {
            self.delay = None;
        } else {
            self.delay.get_or_insert(FIRST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_without_progress_slow_down_to_ten_milliseconds() {
        let mut pace = CycleBackoff::default();
        let now = Timestamp::UNIX_EPOCH;
        let mut waits = Vec::new();
        for progress in [false, false, false, false, false, false, true, false] {
            waits.push(pace.next_cycle_at(now).as_millisecond());
            pace.record_progress(progress);
        }
        waits.push(pace.next_cycle_at(now).as_millisecond());
        assert_eq!(waits, [0, 1, 2, 4, 8, 10, 10, 0, 1]);
    }
}
