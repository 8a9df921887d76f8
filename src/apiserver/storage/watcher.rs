//! Following a space from a revision on.

use std::sync::Arc;

use super::{ResourceStorage, Store, WatchEvent};

/// How many events a watcher takes at a time.
const BATCH: usize = 256;

/// The history does not reach back to where the watcher stands: it must list again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({current})")]
pub struct WatchExpired {
    /// Where the watcher stood.
    pub asked: u64,
    /// The oldest revision a watch can start from.
    pub current: u64,
}

/// A reader of a space's events in order, at its own pace.
pub struct Watcher {
    store: Store,
    space: Arc<ResourceStorage>,
    cursor: u64,
}

impl Store {
    /// Follows `space`: the first event delivered is the first after `revision`.
    ///
    /// # Errors
    /// [`WatchExpired`] when events after `revision` have already been forgotten.
    pub fn watch(
        &self,
        space: &Arc<ResourceStorage>,
        revision: u64,
    ) -> Result<Watcher, WatchExpired> {
        let watcher = Watcher {
            store: self.clone(),
            space: space.clone(),
            cursor: revision,
        };
        watcher.check_not_expired(space.read().compacted_revision)?;
        Ok(watcher)
    }
}

impl Watcher {
    /// Waits until there is something new and takes it: events in order of revision, none left out.
    /// `None` when the space was closed and all of it has been read.
    ///
    /// # Errors
    /// [`WatchExpired`] when this watcher was so slow that its place was forgotten. Nothing follows.
    pub async fn next(&mut self) -> Result<Option<Vec<Arc<WatchEvent>>>, WatchExpired> {
        let space = self.space.clone();
        loop {
            // Before the look, so that nothing slips in between.
            let news = space.changed();
            let (batch, closed) = self.next_batch()?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
            if closed {
                return Ok(None);
            }
            news.await;
        }
    }

    /// A revision up to which everything has been delivered, if nothing is waiting: what a bookmark
    /// may say.
    pub fn bookmark_revision(&mut self) -> Option<u64> {
        // In this order: an event at or below the revision read is in the space by then.
        let revision = self.store.revision();
        let state = self.space.read();
        if state.events_after(self.cursor).next().is_some() {
            return None;
        }
        self.cursor = self.cursor.max(revision);
        Some(self.cursor)
    }

    fn next_batch(&mut self) -> Result<(Vec<Arc<WatchEvent>>, bool), WatchExpired> {
        let state = self.space.read();
        self.check_not_expired(state.compacted_revision)?;
        let batch: Vec<_> = state
            .events_after(self.cursor)
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
