//! Snapshots of a storage at one revision.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use super::resource_storage::StorageState;
use super::{Object, ResourceStorage, Store};

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
    #[error("too old resource version: {requested} ({current})")]
    Expired {
        /// The requested revision.
        requested: u64,
        /// The latest revision.
        current: u64,
    },
    /// The revision is larger than the current one.
    #[error("Too large resource version: {requested}, current: {current}")]
    TooLarge {
        /// The requested revision.
        requested: u64,
        /// The latest revision.
        current: u64,
    },
}

impl Store {
    /// The durable state of the storage, which reads return.
    pub(crate) fn durable_snapshot(&self, storage: &ResourceStorage) -> Snapshot {
        if !self.is_durable() {
            return self.snapshot(storage);
        }
        let state = storage.read();
        // Read under the storage's lock: later events are not compacted.
        let revision = self.durable_revision();
        state.snapshot_at(revision)
    }

    /// The durable version of the object under `key`, which reads return.
    pub fn durable_object(&self, storage: &ResourceStorage, key: &str) -> Option<Arc<Object>> {
        if !self.is_durable() {
            return storage.get(key);
        }
        let state = storage.read();
        let revision = self.durable_revision();
        let mut later = state.events_after(revision);
        match later.find(|event| event.object.key() == key) {
            Some(event) => event.prev_object.clone(),
            None => state.get(key).cloned(),
        }
    }

    /// The current state of the storage, which may not be durable yet.
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
    pub(crate) fn snapshot_at(
        &self,
        storage: &ResourceStorage,
        revision: u64,
    ) -> Result<Snapshot, SnapshotError> {
        let state = storage.read();
        let current = self.durable_revision();
        if revision > current {
            return Err(SnapshotError::TooLarge {
                requested: revision,
                current,
            });
        }
        if revision < state.compacted_revision {
            return Err(SnapshotError::Expired {
                requested: revision,
                current,
            });
        }
        Ok(state.snapshot_at(revision))
    }
}

impl StorageState {
    /// The state at a revision that is not compacted, rebuilt by reverting later events.
    fn snapshot_at(&self, revision: u64) -> Snapshot {
        let mut objects = self.objects.clone();
        for event in self.events_after(revision).rev() {
            match &event.prev_object {
                Some(before) => objects.insert(before.key_shared(), before.clone()),
                None => objects.remove(event.object.key()),
            };
        }
        Snapshot { objects, revision }
    }
}

impl Snapshot {
    /// The revision of the snapshot.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether both have the same objects in the same versions because no write lies between them.
    /// It may be false although they do.
    pub(crate) fn has_same_objects(&self, other: &Self) -> bool {
        self.objects.ptr_eq(&other.objects)
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
