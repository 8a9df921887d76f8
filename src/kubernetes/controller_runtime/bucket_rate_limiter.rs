//! [`BucketRateLimiter`]: the number of objects that controllers create for a count of a spec, such as
//! `replicas`. A count never decides how much work one reconcile does.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::token_bucket::TokenBucket;

/// The largest number of objects that one reconcile creates or deletes for a count, as `BurstReplicas` of the
/// ReplicaSet controller and `MaxPodCreateDeletePerSync` of the Job controller; later reconciles continue.
pub const BURST_REPLICAS: usize = 500;

/// Tokens and tokens per second of one owner. kube-controller-manager sends 20 requests per second by default.
const OWNER: TokenBucket = TokenBucket::new(OWNER_QPS, BURST_REPLICAS as u32);
const OWNER_QPS: u32 = 20;
/// Those of all owners of a controller together.
const ALL_OWNERS: TokenBucket = TokenBucket::new(500, 5_000);
/// The number of owners above which those with full buckets are forgotten.
const MAX_IDLE_OWNERS: usize = 1_024;

/// The time until a bucket is full that is full at a time.
fn full_in(full_at: Option<Timestamp>, now: Timestamp) -> Duration {
    let left = full_at.map(|full_at| full_at.duration_since(now));
    left.and_then(|left| left.try_into().ok())
        .unwrap_or(Duration::ZERO)
}

/// The tokens of a bucket that is full at a time.
fn tokens(bucket: TokenBucket, full_at: Option<Timestamp>, now: Timestamp) -> usize {
    bucket.tokens(full_in(full_at, now)) as usize
}

/// When a bucket is full again after taking tokens.
fn take(
    bucket: TokenBucket,
    full_at: Option<Timestamp>,
    tokens: usize,
    now: Timestamp,
) -> Timestamp {
    let from = full_at.map_or(now, |full_at| full_at.max(now));
    let full_at = from.checked_add(bucket.time_of(tokens));
    full_at.unwrap_or(Timestamp::MAX)
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
        let own = tokens(OWNER, state.owners.get(owner).copied(), now);
        own.min(tokens(ALL_OWNERS, state.all, now))
    }

    /// Counts objects that were created for `owner`.
    pub fn take(&self, owner: &K, created: usize, now: Timestamp) {
        if created == 0 {
            return;
        }
        let mut state = self.state.lock();
        let full_at = take(OWNER, state.owners.get(owner).copied(), created, now);
        state.owners.insert(owner.clone(), full_at);
        state.all = Some(take(ALL_OWNERS, state.all, created, now));
        if state.owners.len() > MAX_IDLE_OWNERS && state.owners.len().is_power_of_two() {
            state.owners.retain(|_, full_at| *full_at > now);
        }
    }

    /// When more objects may be created for `owner` than now: a second's tokens at once, so that a large count
    /// does not reconcile for each object.
    pub fn retry_after(&self, owner: &K, now: Timestamp) -> Duration {
        let wanted = OWNER_QPS as usize;
        let missing = wanted.saturating_sub(self.available(owner, now));
        OWNER.time_of(missing)
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
