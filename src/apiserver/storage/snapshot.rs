//! Snapshots of a storage at one revision.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use super::{Object, ResourceStorage, Store, WatchEventType};

/// A consistent, immutable view of one storage. It costs a pointer copy.
#[derive(Clone, Debug)]
pub struct Snapshot {
    objects: OrdMap<Arc<str>, Arc<Object>>,
    revision: u64,
}

/// The reason a snapshot is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The revision is older than the watch history.
    #[error("too old resource version: {asked} ({current})")]
    Expired {
        /// The requested revision.
        asked: u64,
        /// The latest revision.
        current: u64,
    },
    /// The revision is larger than the current one.
    #[error("Too large resource version: {asked}, current: {current}")]
    TooLarge {
        /// The requested revision.
        asked: u64,
        /// The latest revision.
        current: u64,
    },
}

impl Store {
    /// The current state of the storage.
    pub fn snapshot(&self, storage: &ResourceStorage) -> Snapshot {
        let state = storage.read();
        // Read under the storage's lock, so that no commit to it happens in between.
        Snapshot {
            objects: state.objects.clone(),
            revision: self.revision(),
        }
    }

    /// The state at `revision`, rebuilt by reverting later events.
    ///
    /// # Errors
    /// [`SnapshotError`] when the revision is not available.
    pub fn snapshot_at(
        &self,
        storage: &ResourceStorage,
        revision: u64,
    ) -> Result<Snapshot, SnapshotError> {
        let state = storage.read();
        let current = self.revision();
        if revision > current {
            return Err(SnapshotError::TooLarge {
                asked: revision,
                current,
            });
        }
        if revision < state.compacted_revision {
            return Err(SnapshotError::Expired {
                asked: revision,
                current,
            });
        }
        let mut objects = state.objects.clone();
        let later: Vec<_> = state.events_after(revision).cloned().collect();
        drop(state);
        for event in later.iter().rev() {
            match (&event.prev_object, event.event_type) {
                (Some(before), _) => {
                    objects.insert(before.key_shared(), before.clone());
                }
                (
                    None,
                    WatchEventType::Added | WatchEventType::Modified | WatchEventType::Deleted,
                ) => {
                    objects.remove(event.object.key());
                }
            }
        }
        Ok(Snapshot { objects, revision })
    }
}

impl Snapshot {
    /// The revision of the snapshot.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The object under `key`.
    pub fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The objects whose key starts with `prefix`, in key order, beginning after the key `after`.
    pub fn scan<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Object>> + 'a {
        let from = match after {
            Some(key) if key >= prefix => Bound::Excluded(key),
            _ => Bound::Included(prefix),
        };
        self.objects
            .range::<_, str>((from, Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(_, object)| object)
    }
}
