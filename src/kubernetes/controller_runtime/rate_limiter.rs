//! Per-item exponential backoff, client-go's `ItemExponentialFailureRateLimiter`.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// Default base delay and maximum delay.
pub(super) const DEFAULT_BACKOFF: (Duration, Duration) =
    (Duration::from_millis(5), Duration::from_secs(1000));

/// Consecutive failures by key.
#[derive(Debug)]
pub(super) struct ExponentialFailureRateLimiter<K> {
    failures: HashMap<K, u32>,
    base_delay: Duration,
    max_delay: Duration,
}

impl<K: Eq + Hash + Clone> ExponentialFailureRateLimiter<K> {
    pub(super) fn new((base_delay, max_delay): (Duration, Duration)) -> Self {
        Self {
            failures: HashMap::new(),
            base_delay,
            max_delay,
        }
    }

    /// Counts a failure and returns the delay before the retry: the base delay, doubled with each
    /// further failure.
    pub(super) fn when(&mut self, key: &K) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        let delay = 1u32
            .checked_shl(*failures)
            .and_then(|factor| self.base_delay.checked_mul(factor));
        *failures = failures.saturating_add(1);
        delay.unwrap_or(self.max_delay).min(self.max_delay)
    }

    /// The failures of a key in a row.
    pub(super) fn failures(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }

    pub(super) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }
}
