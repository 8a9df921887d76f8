//! [`TokenBucket`]: client-go's `flowcontrol.NewTokenBucketRateLimiter`.

use std::time::Duration;

/// The rate of a token bucket. Its only state is the time until it is full again, which the caller keeps on a clock of its
/// choice.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    /// The interval between tokens.
    interval: Duration,
    /// The tokens of a full bucket.
    burst: u32,
}

impl TokenBucket {
    /// A bucket to which `qps` tokens are added in a second, up to `burst`.
    ///
    /// # Panics
    /// If `qps` is 0.
    pub const fn new(qps: u32, burst: u32) -> Self {
        Self {
            interval: Duration::from_nanos(1_000_000_000 / qps as u64),
            burst,
        }
    }

    /// As [`new`](Self::new), with values of a configuration. `None` for no limit, as client-go: for a rate that is not
    /// positive, or so low that the time in which the bucket fills cannot be expressed.
    pub fn of_configuration(qps: f32, burst: i32) -> Option<Self> {
        let qps = f64::from(qps);
        if !qps.is_finite() || qps <= 0.0 {
            return None;
        }
        let interval = Duration::try_from_secs_f64(1.0 / qps).ok()?;
        let burst = u32::try_from(burst.max(1)).unwrap_or(1);
        interval.checked_mul(burst)?;
        Some(Self { interval, burst })
    }

    /// The tokens of a full bucket.
    pub const fn burst(self) -> u32 {
        self.burst
    }

    /// The time in which `tokens` are added, at most that of 2^32 - 1.
    pub fn time_of(self, tokens: usize) -> Duration {
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        self.interval.saturating_mul(tokens)
    }

    /// The tokens of a bucket that is full in this time.
    pub fn tokens(self, full_in: Duration) -> u32 {
        if self.interval.is_zero() {
            return self.burst;
        }
        // Rounded up: only whole tokens count.
        let missing = full_in.as_nanos().div_ceil(self.interval.as_nanos());
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        self.burst.saturating_sub(missing)
    }

    /// How long a request waits for its token if the bucket is full in this time after the token is taken.
    pub fn wait(self, full_in: Duration) -> Duration {
        full_in.saturating_sub(self.time_of(self.burst as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_added_with_time_up_to_the_burst() {
        let bucket = TokenBucket::new(20, 500);
        assert_eq!(bucket.tokens(Duration::ZERO), 500);
        assert_eq!(bucket.time_of(500), Duration::from_secs(25));
        assert_eq!(bucket.tokens(Duration::from_secs(25)), 0);
        assert_eq!(bucket.tokens(Duration::from_secs(24)), 20);
        assert_eq!(bucket.tokens(Duration::from_millis(24_001)), 19);
        assert_eq!(bucket.tokens(Duration::MAX), 0);
        assert_eq!(bucket.wait(Duration::from_secs(25)), Duration::ZERO);
        assert_eq!(bucket.wait(Duration::from_secs(26)), Duration::from_secs(1));
        assert_eq!(
            bucket.time_of(usize::MAX),
            bucket.time_of(u32::MAX as usize)
        );
    }

    #[test]
    fn rates_that_are_none_are_no_limit() {
        for qps in [-1.0, 0.0, f32::NAN, f32::INFINITY, 1e-30] {
            assert!(TokenBucket::of_configuration(qps, 3).is_none(), "{qps}");
        }
        let bucket = TokenBucket::of_configuration(10.0, -3).unwrap();
        assert_eq!(bucket.burst(), 1);
    }
}
