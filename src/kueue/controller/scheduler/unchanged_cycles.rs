//! [`UnchangedCycles`]: the delay of scheduling cycles without changes in virtual time.

use jiff::SignedDuration;

/// More cycles than a Workload has resource flavors: each cycle may try the next flavor.
const MIN_UNCHANGED_CYCLES: u32 = 32;
const INITIAL_DELAY: SignedDuration = SignedDuration::from_millis(20);
const MAX_DELAY: SignedDuration = SignedDuration::from_secs(60);

/// Counts the cycles in a row without progress between which the engine did not change. A Workload
/// at the head of a StrictFIFO ClusterQueue is requeued immediately, so that the scheduler tries it
/// every 10 ms as long as it is inadmissible. In virtual time, a lab without other events would run
/// only these cycles.
#[derive(Debug, Default)]
pub(super) struct UnchangedCycles {
    /// The version of the engine's changes after the last cycle.
    version: u64,
    count: u32,
    delay: Option<SignedDuration>,
}

impl UnchangedCycles {
    /// Records a cycle with the versions of the engine's changes at its start and end; the cycle
    /// itself is one change. Returns how long the next cycle can wait for another change.
    pub(super) fn record(
        &mut self,
        progress: bool,
        start: u64,
        end: u64,
    ) -> Option<SignedDuration> {
        let is_unchanged = !progress && start == self.version && end == start + 1;
        self.version = end;
        if !is_unchanged {
            self.count = 0;
            self.delay = None;
            return None;
        }
        self.count = self.count.saturating_add(1);
        if self.count >= MIN_UNCHANGED_CYCLES {
            let longer = self
                .delay
                .map_or(INITIAL_DELAY, |delay| delay.saturating_mul(2));
            self.delay = Some(longer.min(MAX_DELAY));
        }
        self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_while_cycles_are_unchanged() {
        let mut cycles = UnchangedCycles::default();
        let mut waits: Vec<_> = (0..50).map(|v| cycles.record(false, v, v + 1)).collect();
        assert_eq!(waits.iter().filter(|wait| wait.is_none()).count(), 31);
        let mut waits = waits.split_off(31).into_iter().flatten();
        assert_eq!(waits.next(), Some(INITIAL_DELAY));
        assert_eq!(waits.next(), Some(INITIAL_DELAY * 2));
        assert_eq!(waits.next_back(), Some(MAX_DELAY));
    }

    #[test]
    fn changes_and_progress_end_the_wait() {
        let unchanged = || {
            let mut cycles = UnchangedCycles::default();
            let waits = (0..40).map(|v| cycles.record(false, v, v + 1));
            assert!(waits.last().flatten().is_some());
            cycles
        };
        assert!(unchanged().record(false, 40, 41).is_some());
        assert_eq!(unchanged().record(true, 40, 41), None);
        // Before the cycle, and within it.
        assert_eq!(unchanged().record(false, 41, 42), None);
        assert_eq!(unchanged().record(false, 40, 42), None);
    }
}
