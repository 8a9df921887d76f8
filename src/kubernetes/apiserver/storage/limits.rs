//! Limits of the watch history and the decoded cache.

use std::time::Duration;

use jiff::SignedDuration;

/// Limits per storage and of the decoded cache.
#[derive(Clone, Copy, Debug)]
pub struct StorageLimits {
    /// The maximum number of events per storage, apart from fresh ones.
    pub max_events: usize,
    /// The maximum encoded bytes of events per storage, beyond [`StorageLimits::min_events`] and
    /// apart from fresh ones.
    pub max_bytes: usize,
    /// The minimum number of events kept, whatever their size.
    pub min_events: usize,
    /// How long an event is fresh, as upstream's `eventFreshDuration`.
    pub event_fresh_duration: Duration,
    /// How long an event is fresh at least on the clock of the wall: clients are not faster when lab
    /// time is.
    pub event_fresh_wall_duration: Duration,
    /// The maximum encoded bytes of events per storage, beyond [`StorageLimits::min_events`], fresh
    /// ones included.
    pub max_fresh_bytes: usize,
    /// The maximum encoded bytes of objects kept decoded.
    pub decoded_cache_bytes: usize,
}

impl Default for StorageLimits {
    fn default() -> Self {
        Self {
            max_events: 1_000,
            max_bytes: 1 << 20,
            min_events: 100,
            event_fresh_duration: Duration::from_secs(75),
            event_fresh_wall_duration: Duration::from_secs(15),
            max_fresh_bytes: 32 << 20,
            decoded_cache_bytes: 1 << 20,
        }
    }
}

impl StorageLimits {
    /// Whether a history of this many events and bytes has to drop its oldest event, which is of
    /// this age at this speed of lab time.
    pub(super) fn are_exceeded(
        &self,
        events: usize,
        bytes: usize,
        age: SignedDuration,
        speed: f64,
    ) -> bool {
        let exceeds_bytes = |max: usize| bytes > max && events > self.min_events;
        if exceeds_bytes(self.max_fresh_bytes) {
            return true;
        }
        let wall = self.event_fresh_wall_duration.mul_f64(speed);
        let fresh = SignedDuration::try_from(self.event_fresh_duration.max(wall));
        let is_fresh = age < fresh.unwrap_or(SignedDuration::MAX);
        !is_fresh && (events > self.max_events || exceeds_bytes(self.max_bytes))
    }
}
