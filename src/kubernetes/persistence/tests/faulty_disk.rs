//! A disk in memory that fails, fills up and loses what was not synced.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use parking_lot::Mutex;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use redb::{Database, DatabaseError, StorageBackend};

use crate::database_source::DatabaseSource;
use crate::database_source::database_options;

/// The unit that a disk writes completely or not at all, in bytes.
const SECTOR: usize = 512;
/// The part of the reserved space that is released at once, in bytes.
const RESERVE_STEP: u64 = 64 << 10;

/// A disk; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct FaultyDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    synced: Vec<u8>,
    current: Vec<u8>,
    /// What happened since the last sync.
    unsynced: Vec<Operation>,
    /// The number of calls until the next fault.
    countdown: Option<(u64, Fault)>,
    is_dead: bool,
    capacity: Option<u64>,
    /// The bytes of the reserved space.
    reserve: u64,
}

#[derive(Clone, Debug)]
enum Operation {
    SetLen(usize),
    Write(usize, Vec<u8>),
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The process is killed: all calls fail from now on.
    Kill,
    /// One call fails.
    Once,
}

impl FaultyDisk {
    /// Plans a fault after a number of calls.
    pub(super) fn fail_after(&self, calls: u64, fault: Fault) {
        self.0.lock().countdown = Some((calls, fault));
    }

    /// Limits the size; `None` for no limit.
    pub(super) fn set_capacity(&self, bytes: Option<u64>) {
        self.0.lock().capacity = bytes;
    }

    /// Sets the space that is reserved for deletions.
    pub(super) fn set_reserve(&self, bytes: u64) {
        self.0.lock().reserve = bytes;
    }

    /// The space that is reserved for deletions.
    pub(super) fn reserve(&self) -> u64 {
        self.0.lock().reserve
    }

    pub(super) fn size(&self) -> u64 {
        self.0.lock().current.len() as u64
    }

    pub(super) fn is_dead(&self) -> bool {
        self.0.lock().is_dead
    }

    /// Ends a fault; nothing is lost.
    pub(super) fn revive(&self) {
        let mut state = self.0.lock();
        (state.is_dead, state.countdown) = (false, None);
    }

    /// Starts again after a kill. With `power_loss`, a random part of what was not synced is lost.
    pub(super) fn restart(&self, random: &mut ChaCha8Rng, power_loss: bool) {
        let mut state = self.0.lock();
        if power_loss {
            let mut image = state.synced.clone();
            for operation in state.unsynced.clone() {
                operation.apply_partly(&mut image, random);
            }
            state.current = image;
        }
        state.synced = state.current.clone();
        state.unsynced.clear();
        (state.is_dead, state.countdown, state.capacity) = (false, None, None);
    }
}

impl Operation {
    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Self::SetLen(len) => image.resize(*len, 0),
            Self::Write(at, data) => {
                if image.len() < at + data.len() {
                    image.resize(at + data.len(), 0);
                }
                image[*at..at + data.len()].copy_from_slice(data);
            }
        }
    }

    /// Applies all, none or random sectors.
    fn apply_partly(&self, image: &mut Vec<u8>, random: &mut ChaCha8Rng) {
        match (self, random.random_range(0..3)) {
            (Self::SetLen(_), _) | (_, 0) => self.apply(image),
            (_, 1) => {}
            (Self::Write(at, data), _) => {
                for (i, sector) in data.chunks(SECTOR).enumerate() {
                    if random.random() {
                        Self::Write(at + i * SECTOR, sector.to_vec()).apply(image);
                    }
                }
            }
        }
    }
}

impl State {
    fn call(&mut self) -> io::Result<()> {
        if self.is_dead {
            return Err(io::Error::other("killed"));
        }
        match &mut self.countdown {
            Some((0, fault)) => {
                self.is_dead = *fault == Fault::Kill;
                self.countdown = None;
                Err(io::Error::other("fault"))
            }
            Some((left, _)) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn change(&mut self, operation: Operation, end: usize) -> io::Result<()> {
        let grows = end > self.current.len();
        if grows && self.capacity.is_some_and(|capacity| end as u64 > capacity) {
            return Err(ErrorKind::StorageFull.into());
        }
        operation.apply(&mut self.current);
        self.unsynced.push(operation);
        Ok(())
    }
}

impl StorageBackend for FaultyDisk {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.0.lock();
        state.call()?;
        Ok(state.current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.0.lock();
        state.call()?;
        let start = offset as usize;
        let found = state.current.get(start..start + out.len());
        out.copy_from_slice(found.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.0.lock();
        state.call()?;
        state.change(Operation::SetLen(len as usize), len as usize)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.0.lock();
        state.call()?;
        state.synced = state.current.clone();
        state.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock();
        let start = offset as usize;
        if let Err(error) = state.call() {
            if state.is_dead && data.len() > 1 {
                // A killed write may have begun.
                let operation = Operation::Write(start, data[..data.len() / 2].to_vec());
                operation.apply(&mut state.current);
                state.unsynced.push(operation);
            }
            return Err(error);
        }
        state.change(Operation::Write(start, data.to_vec()), start + data.len())
    }
}

impl DatabaseSource for FaultyDisk {
    fn open(&self) -> Result<Database, DatabaseError> {
        database_options().create_with_backend(self.clone())
    }

    fn has_space(&self) -> bool {
        true
    }

    fn release_space(&self) -> bool {
        let mut state = self.0.lock();
        let step = state.reserve.min(RESERVE_STEP);
        state.reserve -= step;
        if let Some(capacity) = &mut state.capacity {
            *capacity += step;
        }
        step > 0
    }

    fn has_reserve(&self) -> bool {
        false
    }

    fn location(&self) -> String {
        "memory".into()
    }
}
