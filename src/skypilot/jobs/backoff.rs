//! Waits between launches that failed: 60 s, growing by 1.6 up to five times that, each up to 40 %
//! shorter or longer.

use std::time::Duration;

use kueue_lab_entropy::Entropy;

const JITTER: f64 = 0.4;
const GROWTH: f64 = 1.6;
const MAX_FACTOR: f64 = 5.0;

/// The waits of one series of launches.
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

    /// The next wait. As in SkyPilot, what chance added stays in the base of the wait after it.
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
    fn waits_grow_and_stay_within_bounds() {
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
