//! The backoff between failed launches: 60 s, times 1.6 up to five times the start, with 40 % jitter.

use std::time::Duration;

use kueue_lab_clock::Entropy;

const JITTER: f64 = 0.4;
const GROWTH: f64 = 1.6;
const MAX_FACTOR: f64 = 5.0;

/// The backoff of one series of launches.
#[derive(Debug)]
pub(super) struct Backoff {
    first: f64,
    current: Option<f64>,
}

impl Backoff {
    pub(super) fn new(first: Duration) -> Self {
        Self {
            first: first.as_secs_f64(),
            current: None,
        }
    }

    /// The next delay. As in SkyPilot, the jitter stays in the base of the next delay.
    pub(super) fn next(&mut self, entropy: &Entropy) -> Duration {
        let base = match self.current {
            None => self.first,
            Some(last) => (last * GROWTH).min(self.first * MAX_FACTOR),
        };
        let wait = base + base * JITTER * (2.0 * entropy.unit() - 1.0);
        self.current = Some(wait);
        Duration::from_secs_f64(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_stay_within_bounds() {
        let entropy = Entropy::seeded(3);
        for _ in 0..50 {
            let mut backoff = Backoff::new(Duration::from_secs(60));
            let first = backoff.next(&entropy).as_secs_f64();
            assert!((36.0..=84.0).contains(&first), "{first}");
            let last = (0..12).map(|_| backoff.next(&entropy)).last().unwrap();
            assert!(last.as_secs_f64() <= 420.0, "{last:?}");
        }
    }
}
