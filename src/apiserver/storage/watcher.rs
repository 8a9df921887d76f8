//! Watches a storage from a revision.

use std::sync::Arc;

use super::{ResourceStorage, Store, WatchEvent};

/// The maximum number of events per batch.
const BATCH: usize = 256;

/// The watcher's revision is compacted: the client must list again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({current})")]
pub struct WatchExpired {
    /// The watcher's revision.
    pub asked: u64,
    /// The oldest revision a watch can start from.
    pub current: u64,
}

/// Reads the events of a storage in order, at its own pace.
pub struct Watcher {
    store: Store,
    storage: Arc<ResourceStorage>,
    cursor: u64,
}

impl Store {
    /// Watches `storage`: the first event is the first after `revision`.
    ///
    /// # Errors
    /// [`WatchExpired`] when events after `revision` are compacted.
    pub fn watch(
        &self,
        storage: &Arc<ResourceStorage>,
        revision: u64,
    ) -> Result<Watcher, WatchExpired> {
        let watcher = Watcher {
            store: self.clone(),
            storage: storage.clone(),
            cursor: revision,
        };
        watcher.check_not_expired(storage.read().compacted_revision)?;
        Ok(watcher)
    }
}

impl Watcher {
    /// Waits for events and returns them in order of revision, without gaps. `None` when the
    /// storage is closed and all events have been read.
    ///
    /// # Errors
    /// [`WatchExpired`] when the watcher's revision was compacted. No further events follow.
    pub async fn next(&mut self) -> Result<Option<Vec<Arc<WatchEvent>>>, WatchExpired> {
        let storage = self.storage.clone();
        loop {
            // Registered before reading, so that no notification is lost.
            let changed = storage.changed();
            let (batch, closed) = self.next_batch()?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
            if closed {
                return Ok(None);
            }
            changed.await;
        }
    }

    /// The revision for a bookmark: all events up to it have been delivered. `None` while events
    /// are pending.
    pub fn bookmark_revision(&mut self) -> Option<u64> {
        // The revision is read first: events up to it are then in the storage's history.
        let revision = self.store.durable_revision();
        let state = self.storage.read();
        let next = state.events_after(self.cursor).next();
        if next.is_some_and(|event| event.revision() <= revision) {
            return None;
        }
        self.cursor = self.cursor.max(revision);
        Some(self.cursor)
    }

    fn next_batch(&mut self) -> Result<(Vec<Arc<WatchEvent>>, bool), WatchExpired> {
        let state = self.storage.read();
        self.check_not_expired(state.compacted_revision)?;
        let durable = self.store.durable_revision();
        let batch: Vec<_> = state
            .events_after(self.cursor)
            .take_while(|event| event.revision() <= durable)
            .take(BATCH)
            .cloned()
            .collect();
        if let Some(last) = batch.last() {
            self.cursor = last.revision();
        }
        Ok((batch, state.is_closed()))
    }

    fn check_not_expired(&self, floor: u64) -> Result<(), WatchExpired> {
        if self.cursor < floor {
            return Err(WatchExpired {
                asked: self.cursor,
                current: floor,
            });
        }
        Ok(())
    }
}
