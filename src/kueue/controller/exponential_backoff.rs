//! The exponential backoff of requeues and of retries of provisioning (`wait.Backoff` of apimachinery).

use jiff::SignedDuration;

/// Backoffs are extended by at most this fraction.
const JITTER: f64 = 0.0001;

/// A backoff that doubles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExponentialBackoff {
    /// The first backoff, in seconds.
    pub base_seconds: i32,
    /// The longest one, in seconds.
    pub max_seconds: i32,
}

impl ExponentialBackoff {
    /// The backoff before attempt number `count`, from 1; `jitter` is in `[0, 1)`.
    pub(crate) fn before(self, count: i32, jitter: f64) -> SignedDuration {
        let (base, max) = (f64::from(self.base_seconds), f64::from(self.max_seconds));
        let plain = (base * 2f64.powi(count.saturating_sub(1))).min(max);
        SignedDuration::try_from_secs_f64(plain * (1.0 + jitter * JITTER))
            .unwrap_or(SignedDuration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_the_maximum() {
        let backoff = ExponentialBackoff {
            base_seconds: 60,
            max_seconds: 300,
        };
        let seconds = |count| backoff.before(count, 0.0).as_secs();
        assert_eq!(
            [1, 2, 3, 4, 5, i32::MAX].map(seconds),
            [60, 120, 240, 300, 300, 300]
        );
        assert_eq!(backoff.before(1, 0.5).as_millis(), 60_003);
    }
}
