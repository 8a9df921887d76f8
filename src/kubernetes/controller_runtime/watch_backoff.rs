//! Backoff of the list and watch of an informer.

use std::time::Duration;

use kube::runtime::utils::Backoff;

const INITIAL_DELAY: Duration = Duration::from_millis(800);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// Exponential backoff up to five seconds, reset after a successful watch.
///
/// client-go's reflector uses up to 30 seconds plus jitter, which protects API servers with
/// thousands of clients. The lab has few clients and must recover quickly from a network failure.
#[derive(Clone, Debug)]
pub(crate) struct WatchBackoff {
    next: Duration,
}

impl Default for WatchBackoff {
    fn default() -> Self {
        Self {
            next: INITIAL_DELAY,
        }
    }
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let delay = self.next;
        self.next = (delay * 2).min(MAX_DELAY);
        Some(delay)
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_capped_and_resets() {
        let mut delays = WatchBackoff::default();
        let first: Vec<u128> = delays.by_ref().take(6).map(|p| p.as_millis()).collect();
        assert_eq!(first, [800, 1600, 3200, 5000, 5000, 5000]);
        delays.reset();
        assert_eq!(delays.next(), Some(INITIAL_DELAY));
    }
}
