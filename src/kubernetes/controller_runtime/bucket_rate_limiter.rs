//! [`BucketRateLimiter`]: the number of objects that controllers create for a count of a spec, such as
//! `replicas`. A count never decides how much work one reconcile does.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// The largest number of objects that one reconcile creates or deletes for a count, as `BurstReplicas` of the
/// ReplicaSet controller and `MaxPodCreateDeletePerSync` of the Job controller; later reconciles continue.
pub const BURST_REPLICAS: usize = 500;

/// Tokens and tokens per second of one owner. kube-controller-manager sends 20 requests per second by default.
const OWNER: Bucket = Bucket {
    burst: BURST_REPLICAS as u32,
    qps: 20,
};
/// Those of all owners of a controller together.
const ALL_OWNERS: Bucket = Bucket {
    burst: 5_000,
    qps: 500,
};
/// The number of owners above which those with full buckets are forgotten.
const MAX_IDLE_OWNERS: usize = 1_024;

/// A token bucket, client-go's `flowcontrol.NewTokenBucketRateLimiter`.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    burst: u32,
    qps: u32,
}

impl Bucket {
    /// The time in which `tokens` are added.
    fn time_of(self, tokens: usize) -> SignedDuration {
        let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
        let nanoseconds = tokens.saturating_mul(1_000_000_000 / i64::from(self.qps));
        SignedDuration::from_nanos(nanoseconds)
    }

    /// The tokens of a bucket that is full at a time.
    fn tokens(self, full_at: Option<Timestamp>, now: Timestamp) -> usize {
        let Some(full_at) = full_at else {
            return self.burst as usize;
        };
        let missing = full_at.duration_since(now);
        let missing = missing.max(SignedDuration::ZERO).as_nanos() * i128::from(self.qps);
        // Rounded up: only whole tokens count.
        let missing = usize::try_from((missing + 999_999_999) / 1_000_000_000);
        (self.burst as usize).saturating_sub(missing.unwrap_or(usize::MAX))
    }

    /// When the bucket is full again after taking tokens.
    fn take(self, full_at: Option<Timestamp>, tokens: usize, now: Timestamp) -> Timestamp {
        let from = full_at.map_or(now, |full_at| full_at.max(now));
        let full_at = from.checked_add(self.time_of(tokens));
        full_at.unwrap_or(Timestamp::MAX)
    }
}

/// Limits the objects that a controller creates for the counts of its owners: each owner gets
/// [`BURST_REPLICAS`] at once and then 20 in a second of lab time, all owners together 5,000 at once and then
/// 500 in a second.
#[derive(Debug)]
pub struct BucketRateLimiter<K> {
    state: Mutex<State<K>>,
}

/// The times at which the buckets are full; those without a time are full.
#[derive(Debug)]
struct State<K> {
    owners: HashMap<K, Timestamp>,
    all: Option<Timestamp>,
}

impl<K> Default for BucketRateLimiter<K> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                owners: HashMap::new(),
                all: None,
            }),
        }
    }
}

impl<K: Eq + Hash + Clone> BucketRateLimiter<K> {
    /// How many objects may be created for `owner` now.
    pub fn available(&self, owner: &K, now: Timestamp) -> usize {
        let state = self.state.lock();
        let own = OWNER.tokens(state.owners.get(owner).copied(), now);
        own.min(ALL_OWNERS.tokens(state.all, now))
    }

    /// Counts objects that were created for `owner`.
    pub fn take(&self, owner: &K, created: usize, now: Timestamp) {
        if created == 0 {
            return;
        }
        let mut state = self.state.lock();
        let full_at = OWNER.take(state.owners.get(owner).copied(), created, now);
        state.owners.insert(owner.clone(), full_at);
        state.all = Some(ALL_OWNERS.take(state.all, created, now));
        if state.owners.len() > MAX_IDLE_OWNERS && state.owners.len().is_power_of_two() {
            state.owners.retain(|_, full_at| *full_at > now);
        }
    }

    /// When more objects may be created for `owner` than now: a second's tokens at once, so that a large count
    /// does not reconcile for each object.
    pub fn retry_after(&self, owner: &K, now: Timestamp) -> Duration {
        let wanted = OWNER.qps as usize;
        let missing = wanted.saturating_sub(self.available(owner, now));
        OWNER.time_of(missing).unsigned_abs()
    }

    /// Forgets an owner that does not exist anymore.
    pub fn forget(&self, owner: &K) {
        self.state.lock().owners.remove(owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000 + seconds).unwrap()
    }

    #[test]
    fn an_owner_gets_a_burst_and_then_some_each_second() {
        let limiter = BucketRateLimiter::default();
        assert_eq!(limiter.available(&"a", at(0)), BURST_REPLICAS);
        limiter.take(&"a", BURST_REPLICAS, at(0));
        assert_eq!(limiter.available(&"a", at(0)), 0);
        assert_eq!(limiter.retry_after(&"a", at(0)), Duration::from_secs(1));
        assert_eq!(limiter.available(&"a", at(1)), 20);
        assert_eq!(limiter.retry_after(&"a", at(1)), Duration::ZERO);
        assert_eq!(limiter.available(&"b", at(0)), BURST_REPLICAS);
        assert_eq!(limiter.available(&"a", at(3600)), BURST_REPLICAS);
        limiter.take(&"a", usize::MAX, at(0));
        assert_eq!(limiter.available(&"a", at(3600)), 0);
        limiter.forget(&"a");
        assert_eq!(limiter.state.lock().owners.len(), 0);
    }

    #[test]
    fn many_owners_share_a_bucket() {
        let limiter = BucketRateLimiter::default();
        for owner in 0..10 {
            limiter.take(&owner, BURST_REPLICAS, at(0));
        }
        assert_eq!(limiter.available(&10, at(0)), 0);
        assert_eq!(limiter.available(&10, at(1)), 500);
    }

    #[test]
    fn owners_with_full_buckets_are_forgotten() {
        let limiter = BucketRateLimiter::default();
        for owner in 0..10_000 {
            limiter.take(&owner, 1, at(owner));
        }
        assert!(limiter.state.lock().owners.len() <= 2 * MAX_IDLE_OWNERS);
    }
}
