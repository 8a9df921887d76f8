//! The memory that processes take beside the file system: variables, words, captured output and data
//! that commands read completely.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The bytes of one process that is executed, with all its shells.
pub const PROCESS_MEMORY: usize = 16 << 20;
/// The bytes of all processes of all containers together.
pub const ALL_PROCESSES_MEMORY: usize = 64 << 20;
/// What a word takes beside its text, in bytes.
pub(crate) const WORD_OVERHEAD: usize = 32;

static ALL_HELD: AtomicUsize = AtomicUsize::new(0);

/// The memory of a process.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    held: AtomicUsize,
    exhausted: AtomicBool,
}

/// Bytes that count for a process until they are dropped. A clone counts as well.
#[derive(Debug)]
pub(crate) struct MemoryHold {
    memory: Arc<Memory>,
    bytes: usize,
}

/// Adds to a counter unless the sum is above the limit.
fn add(counter: &AtomicUsize, bytes: usize, limit: usize) -> bool {
    let sum = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= limit);
    counter
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum)
        .is_ok()
}

impl Memory {
    /// A hold of nothing.
    pub(crate) fn hold(self: &Arc<Self>) -> MemoryHold {
        MemoryHold {
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

impl MemoryHold {
    /// Holds more bytes, before they are allocated. False, and the process ends, if there are not
    /// enough.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let mut is_held = add(&self.memory.held, bytes, PROCESS_MEMORY);
        if is_held && !add(&ALL_HELD, bytes, ALL_PROCESSES_MEMORY) {
            self.memory.held.fetch_sub(bytes, Ordering::Relaxed);
            is_held = false;
        }
        match is_held {
            true => self.bytes += bytes,
            false => self.memory.exhaust(),
        }
        is_held
    }

    /// Releases bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.memory.held.fetch_sub(bytes, Ordering::Relaxed);
        ALL_HELD.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Clone for MemoryHold {
    fn clone(&self) -> Self {
        let mut clone = self.memory.hold();
        clone.grow(self.bytes);
        clone
    }
}

impl Drop for MemoryHold {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_above_the_limit_end_the_process() {
        let memory = Arc::new(Memory::default());
        let mut first = memory.hold();
        assert!(first.grow(PROCESS_MEMORY / 2));
        let second = first.clone();
        assert!(!memory.is_exhausted());
        assert!(!first.grow(1) && memory.is_exhausted());
        drop(second);
        first.shrink(10);
        assert_eq!(memory.held.load(Ordering::Relaxed), PROCESS_MEMORY / 2 - 10);
        drop(first);
        assert_eq!(memory.held.load(Ordering::Relaxed), 0);
    }
}
