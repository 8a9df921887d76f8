//! Limits of the watch history and the decoded cache.

/// Limits per storage and of the decoded cache.
#[derive(Clone, Copy, Debug)]
pub struct StorageLimits {
    /// The maximum number of events per storage.
    pub max_events: usize,
    /// The maximum encoded bytes of events per storage, beyond [`StorageLimits::min_events`].
    pub max_bytes: usize,
    /// The minimum number of events kept, whatever their size.
    pub min_events: usize,
    /// The maximum encoded bytes of objects kept decoded.
    pub decoded_cache_bytes: usize,
}

impl Default for StorageLimits {
    fn default() -> Self {
        Self {
            max_events: 10_000,
            max_bytes: 8 << 20,
            min_events: 100,
            decoded_cache_bytes: 1 << 20,
        }
    }
}
