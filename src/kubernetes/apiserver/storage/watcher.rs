//! Watches a storage from a revision.

use std::sync::Arc;

use super::resource_storage::StorageState;
use super::watch_scope::ScopedWatchers;
use super::{ResourceStorage, Store, WatchEvent, WatchScope};

/// The maximum number of events per batch.
const BATCH: usize = 256;

/// The watcher's revision is compacted: the client must list again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {requested} ({current})")]
pub struct WatchExpired {
    /// The watcher's revision.
    pub requested: u64,
    /// The oldest revision a watch can start from.
    pub current: u64,
}

/// Reads the events of a part of a storage in order, at its own pace.
pub struct Watcher {
    store: Store,
    storage: Arc<ResourceStorage>,
    scope: WatchScope,
    /// The watchers of the same scope, with their key or prefix; `None` for all objects.
    watchers: Option<(Arc<str>, Arc<ScopedWatchers>)>,
    /// All events up to this revision have been read.
    cursor: u64,
}

impl Store {
    /// Watches the objects of `storage` in `scope`: the first event is the first after `revision`.
    ///
    /// # Errors
    /// [`WatchExpired`] when events after `revision` are compacted.
    pub fn watch(
        &self,
        storage: &Arc<ResourceStorage>,
        scope: WatchScope,
        revision: u64,
    ) -> Result<Watcher, WatchExpired> {
        let state = storage.read();
        // Joined under the storage's lock, so that no event is compacted in between.
        let watchers = scope.key_or_prefix().map(|key| {
            let watchers = storage.scopes.join(&key, state.compacted_revision);
            (key, watchers)
        });
        let watcher = Watcher {
            store: self.clone(),
            storage: storage.clone(),
            scope,
            watchers,
            cursor: revision,
        };
        if revision < state.compacted_revision {
            return Err(watcher.expired(state.compacted_revision));
        }
        Ok(watcher)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some((key, watchers)) = self.watchers.take() {
            self.storage.scopes.leave(&key, watchers);
        }
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
        let watchers = self.watchers.as_ref().map(|(_, w)| w.clone());
        loop {
            // Registered before reading, so that no notification is lost.
            let changed = match &watchers {
                Some(watchers) => watchers.changed.notified(),
                None => storage.changed(),
            };
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
    pub(crate) fn bookmark_revision(&mut self) -> Option<u64> {
        // The revision is read first: events up to it are then in the storage's history.
        let revision = self.store.durable_revision();
        let state = self.storage.read();
        let is_pending = state
            .events_after(self.cursor)
            .take_while(|event| event.revision() <= revision)
            .any(|event| self.scope.contains(event.object.key()));
        if is_pending || self.cursor < self.compacted_revision(&state) {
            return None;
        }
        self.cursor = self.cursor.max(revision);
        Some(self.cursor)
    }

    fn next_batch(&mut self) -> Result<(Vec<Arc<WatchEvent>>, bool), WatchExpired> {
        let state = self.storage.read();
        let compacted = self.compacted_revision(&state);
        if self.cursor < compacted {
            return Err(self.expired(compacted));
        }
        let durable = self.store.durable_revision();
        let mut batch = Vec::new();
        let events = state.events_after(self.cursor);
        for event in events.take_while(|event| event.revision() <= durable) {
            self.cursor = event.revision();
            if self.scope.contains(event.object.key()) {
                batch.push(event.clone());
            }
            if batch.len() == BATCH {
                break;
            }
        }
        Ok((batch, state.is_closed()))
    }

    /// All events of the scope after this revision are in the history.
    fn compacted_revision(&self, state: &StorageState) -> u64 {
        match &self.watchers {
            Some((_, watchers)) => watchers.compacted_revision(),
            None => state.compacted_revision,
        }
    }

    fn expired(&self, compacted_revision: u64) -> WatchExpired {
        WatchExpired {
            requested: self.cursor,
            current: compacted_revision,
        }
    }
}
