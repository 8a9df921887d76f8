//! Bounds of the watch history.

/// How much of the past is kept.
#[derive(Clone, Copy, Debug)]
pub struct StorageLimits {
    /// Events kept per space at most.
    pub max_events: usize,
    /// Encoded bytes kept per space at most, as long as [`StorageLimits::events_kept`] are there.
    pub max_bytes: usize,
    /// Events kept whatever their size.
    pub min_events: usize,
    /// Encoded bytes of the objects that are also held decoded.
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
