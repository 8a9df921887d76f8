//! How long a key that keeps failing waits, as client-go's default rate limiter counts.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1000);

/// Failures in a row of each key.
#[derive(Debug)]
pub(super) struct Delays<K> {
    failures: HashMap<K, u32>,
}

impl<K> Default for Delays<K> {
    fn default() -> Self {
        Self {
            failures: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash + Clone> Delays<K> {
    /// Counts a failure and tells how long to wait after it: 5 ms, doubled with every one.
    pub(super) fn next(&mut self, key: &K) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        let delay = 1u32
            .checked_shl(*failures)
            .and_then(|factor| FIRST.checked_mul(factor));
        *failures = failures.saturating_add(1);
        delay.unwrap_or(LONGEST).min(LONGEST)
    }

    pub(super) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }
}
