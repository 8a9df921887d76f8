//! The memory that processes take beside the file system: variables, words, captured output and data
//! that commands read completely.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The bytes of one process that is executed, with all its shells.
pub const PROCESS_MEMORY: usize = 16 << 20;
/// The bytes of all processes of all containers together.
pub const ALL_PROCESSES_MEMORY: usize = 64 << 20;
/// The memory of a word beside its text, in bytes.
pub(crate) const WORD_OVERHEAD: usize = 32;

static ALL_RESERVED: AtomicUsize = AtomicUsize::new(0);

/// The memory of a process.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The bytes that it may have.
    limit: usize,
    /// Whether it counts for [`ALL_PROCESSES_MEMORY`].
    is_shared: bool,
    reserved: AtomicUsize,
    exhausted: AtomicBool,
}

/// Bytes that count for a process until they are dropped. A clone counts as well.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    memory: Arc<Memory>,
    bytes: usize,
}

/// Adds to a counter unless the sum is above the limit.
fn add(counter: &AtomicUsize, bytes: usize, limit: usize) -> bool {
    let sum = |reserved: usize| reserved.checked_add(bytes).filter(|sum| *sum <= limit);
    counter
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum)
        .is_ok()
}

impl Memory {
    /// A memory of `limit` bytes, which counts for [`ALL_PROCESSES_MEMORY`] if `is_shared`.
    pub(crate) fn new(limit: usize, is_shared: bool) -> Arc<Self> {
        Arc::new(Self {
            limit,
            is_shared,
            reserved: AtomicUsize::new(0),
            exhausted: AtomicBool::new(false),
        })
    }

    /// An empty reservation.
    pub(crate) fn reserve(self: &Arc<Self>) -> MemoryReservation {
        MemoryReservation {
            memory: self.clone(),
            bytes: 0,
        }
    }

    /// Whether the process has to end.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed)
    }

    /// Ends the process.
    pub(crate) fn exhaust(&self) {
        self.exhausted.store(true, Ordering::Relaxed);
    }
}

impl MemoryReservation {
    /// Reserves more bytes, before they are allocated. False, and the process ends, if there are not
    /// enough.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let memory = &self.memory;
        let mut is_reserved = add(&memory.reserved, bytes, memory.limit);
        if is_reserved && memory.is_shared && !add(&ALL_RESERVED, bytes, ALL_PROCESSES_MEMORY) {
            self.memory.reserved.fetch_sub(bytes, Ordering::Relaxed);
            is_reserved = false;
        }
        match is_reserved {
            true => self.bytes += bytes,
            false => self.memory.exhaust(),
        }
        is_reserved
    }

    /// Releases bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.memory.reserved.fetch_sub(bytes, Ordering::Relaxed);
        if self.memory.is_shared {
            ALL_RESERVED.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

impl Clone for MemoryReservation {
    fn clone(&self) -> Self {
        let mut clone = self.memory.reserve();
        clone.grow(self.bytes);
        clone
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_above_the_limit_end_the_process() {
        let memory = Memory::new(PROCESS_MEMORY, true);
        let mut first = memory.reserve();
        assert!(first.grow(PROCESS_MEMORY / 2));
        let second = first.clone();
        assert!(!memory.is_exhausted());
        assert!(!first.grow(1) && memory.is_exhausted());
        drop(second);
        first.shrink(10);
        assert_eq!(
            memory.reserved.load(Ordering::Relaxed),
            PROCESS_MEMORY / 2 - 10
        );
        drop(first);
        assert_eq!(memory.reserved.load(Ordering::Relaxed), 0);
    }
}
