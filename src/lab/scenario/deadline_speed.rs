//! Deadlines in lab time at every speed: near one, a fast lab runs slower, so that the machine has the time to do what is
//! due before it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kueue_lab_clock::Clock;

use super::run::add_duration;

/// The real time of the second half of a timeout, unless that is shorter in lab time.
const REAL_TIME: Duration = Duration::from_secs(8);

/// The end of a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    start: Timestamp,
    timeout: Duration,
    /// The end, in lab time.
    pub(super) end: Timestamp,
}

impl Deadline {
    /// The deadline of a timeout that starts at `start`.
    pub(super) fn new(start: Timestamp, timeout: Duration) -> Self {
        Self {
            start,
            timeout,
            end: add_duration(start, timeout),
        }
    }

    /// The time from which on the lab runs at [`Self::speed`].
    pub(super) fn slow_from(self) -> Timestamp {
        add_duration(self.start, self.timeout / 2)
    }

    /// The highest speed in the second half.
    pub(super) fn speed(self) -> f64 {
        let half = self.timeout.as_secs_f64() / 2.0;
        (half / REAL_TIME.as_secs_f64()).max(1.0)
    }
}

/// The speed of a lab while a scenario waits.
#[derive(Debug)]
pub(super) struct DeadlineSpeed {
    clock: Clock,
    state: Mutex<Speeds>,
}

#[derive(Debug)]
struct Speeds {
    /// The speed without a deadline.
    full: f64,
    /// The speed that was set last.
    current: f64,
    /// The highest speed from now on.
    limit: f64,
}

impl DeadlineSpeed {
    /// The present speed, without a deadline.
    pub(super) fn new(clock: &Clock) -> Self {
        let speed = clock.speed();
        Self {
            clock: clock.clone(),
            state: Mutex::new(Speeds {
                full: speed,
                current: speed,
                limit: f64::INFINITY,
            }),
        }
    }

    /// Limits the speed from now on.
    pub(super) fn limit(&self, speed: f64) {
        self.change(|speeds| {
            speeds.limit = speeds.limit.min(speed);
            speeds.current
        });
    }

    /// Sets the speed at `now` for these deadlines.
    pub(super) fn set(&self, deadlines: impl Iterator<Item = Deadline>, now: Timestamp) {
        let near = deadlines.filter(|deadline| now >= deadline.slow_from());
        let near = near.map(Deadline::speed).fold(f64::INFINITY, f64::min);
        self.change(|speeds| speeds.full.min(near));
    }

    /// Sets the full speed again when the value is dropped.
    pub(super) fn restored_at_end(&self) -> RestoredSpeed<'_> {
        RestoredSpeed(self)
    }

    fn change(&self, wanted: impl FnOnce(&mut Speeds) -> f64) {
        // Only an adjustable clock changes its speed; virtual time does not depend on the machine.
        if !self.clock.is_adjustable() {
            return;
        }
        let mut speeds = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let speed = self.clock.speed();
        if speed != speeds.current {
            // The user changed it.
            (speeds.full, speeds.current) = (speed, speed);
        }
        let wanted = wanted(&mut speeds).min(speeds.limit);
        if wanted != speeds.current && self.clock.set_speed(wanted) {
            speeds.current = self.clock.speed();
        }
    }
}

/// Sets the full speed again when it is dropped.
pub(super) struct RestoredSpeed<'a>(&'a DeadlineSpeed);

impl Drop for RestoredSpeed<'_> {
    fn drop(&mut self) {
        self.0.change(|speeds| speeds.full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_runs_slower_in_the_second_half_of_a_timeout() {
        let start = Timestamp::UNIX_EPOCH;
        let at = |seconds: u64| add_duration(start, Duration::from_secs(seconds));
        let deadline = |seconds: u64| Deadline::new(start, Duration::from_secs(seconds));
        let clock = Clock::adjustable(60.0);
        let speed = DeadlineSpeed::new(&clock);
        let set = |timeouts: &[u64], now: u64| {
            speed.set(timeouts.iter().map(|t| deadline(*t)), at(now));
            clock.speed()
        };
        assert_eq!(set(&[4, 160], 1), 60.0);
        assert_eq!(set(&[4, 160], 2), 1.0);
        assert_eq!(set(&[160], 2), 60.0);
        assert_eq!(set(&[160], 80), 10.0);
        drop(speed.restored_at_end());
        assert_eq!(clock.speed(), 60.0);
        // A user that changes the speed wins until the next deadline.
        clock.set_speed(30.0);
        assert_eq!(set(&[], 90), 30.0);
        speed.limit(5.0);
        assert_eq!(clock.speed(), 5.0);
        assert_eq!(set(&[], 90), 5.0);
        // The deadline itself does not depend on the speed.
        assert_eq!(deadline(5).end, at(5));
    }

    #[test]
    fn the_speed_of_other_clocks_stays() {
        let clock = Clock::scaled(60.0);
        let speed = DeadlineSpeed::new(&clock);
        let now = clock.now();
        speed.set([Deadline::new(now, Duration::ZERO)].into_iter(), now);
        assert_eq!(clock.speed(), 60.0);
    }
}
