//! All objects of a space as they were at one revision.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use super::{Object, ResourceStorage, Store, WatchEventType};

/// A consistent view of one space. Costs a pointer copy; later commits do not touch it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    objects: OrdMap<Arc<str>, Arc<Object>>,
    revision: u64,
}

/// Why a snapshot of the past (or the future) cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The history does not reach back that far.
    #[error("too old resource version: {asked} ({current})")]
    Expired {
        /// What was asked for.
        asked: u64,
        /// The latest revision.
        current: u64,
    },
    /// That revision has not been reached yet.
    #[error("Too large resource version: {asked}, current: {current}")]
    TooLarge {
        /// What was asked for.
        asked: u64,
        /// The latest revision.
        current: u64,
    },
}

impl Store {
    /// The space as it is now.
    pub fn snapshot(&self, space: &ResourceStorage) -> Snapshot {
        let state = space.read();
        // Read under the space's lock: no commit to this space can lie between the two.
        Snapshot {
            objects: state.objects.clone(),
            revision: self.revision(),
        }
    }

    /// The space as it was at `revision`, rebuilt from the present by undoing what came later.
    ///
    /// # Errors
    /// [`SnapshotError`] when that moment is not in the history.
    pub fn snapshot_at(
        &self,
        space: &ResourceStorage,
        revision: u64,
    ) -> Result<Snapshot, SnapshotError> {
        let state = space.read();
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
    /// The revision this is the state of.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The object under `storage_key`.
    pub fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The objects whose key starts with `prefix`, in key order, from after the key `events_after`.
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
