//! The cache of decoded objects.
//!
//! A decoded object takes about ten times the memory of its encoding, and decoding costs about as
//! much as a clone; so only a small working set stays decoded.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Object;

/// A bounded FIFO queue of decoded objects; the oldest entry loses its decoded form first.
#[derive(Debug)]
pub(super) struct DecodedCache {
    limit: usize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    objects: VecDeque<Arc<Object>>,
    bytes: usize,
}

impl DecodedCache {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            queue: Mutex::default(),
        }
    }

    /// Records that `object` was decoded and drops the decoded form of the oldest entries over the
    /// limit.
    pub(super) fn insert(&self, object: &Arc<Object>) {
        let mut queue = self.queue.lock();
        queue.bytes += object.size();
        queue.objects.push_back(object.clone());
        while queue.bytes > self.limit {
            let Some(old) = queue.objects.pop_front() else {
                break;
            };
            queue.bytes = queue.bytes.saturating_sub(old.size());
            old.drop_decoded();
        }
    }
}
