//! How long a key that keeps failing waits, as client-go's default rate limiter counts.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// The delay after a first failure, and the longest, where a queue does not say.
pub(super) const USUAL: (Duration, Duration) =
    (Duration::from_millis(5), Duration::from_secs(1000));

/// Failures in a row of each key.
#[derive(Debug)]
pub(super) struct Delays<K> {
    failures: HashMap<K, u32>,
    first: Duration,
    longest: Duration,
}

impl<K: Eq + Hash + Clone> Delays<K> {
    pub(super) fn new((first, longest): (Duration, Duration)) -> Self {
        Self {
            failures: HashMap::new(),
            first,
            longest,
        }
    }

    /// Counts a failure and tells how long to wait after it: the first delay, doubled with every
    /// one.
    pub(super) fn next(&mut self, key: &K) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        let delay = 1u32
            .checked_shl(*failures)
            .and_then(|factor| self.first.checked_mul(factor));
        *failures = failures.saturating_add(1);
        delay.unwrap_or(self.longest).min(self.longest)
    }

    pub(super) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }
}
