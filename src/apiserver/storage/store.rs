//! The store of all resources: revisions, transactions, watch history.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::commit_error::CommitError;
use super::decoded_cache::DecodedCache;
use super::limits::StorageLimits;
use super::object::{Object, PendingObject};
use super::resource_storage::ResourceStorage;
use super::watch_event::WatchEventType;

/// The store of one API server. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Serializes commits, so that revisions become visible in order.
    commit: Mutex<()>,
    revision: AtomicU64,
    limits: StorageLimits,
    decoded_cache: Arc<DecodedCache>,
}

impl Store {
    /// An empty store at revision 1.
    pub fn new(limits: StorageLimits) -> Self {
        Self {
            shared: Arc::new(Shared {
                commit: Mutex::new(()),
                revision: AtomicU64::new(1),
                limits,
                decoded_cache: Arc::new(DecodedCache::new(limits.decoded_cache_bytes)),
            }),
        }
    }

    /// The revision of the latest commit in any storage. All commits up to it are visible.
    pub fn revision(&self) -> u64 {
        self.shared.revision.load(Ordering::Acquire)
    }

    /// A new, empty storage. Its history starts at the current revision.
    pub fn new_resource_storage(&self) -> Arc<ResourceStorage> {
        Arc::new(ResourceStorage::new(self.revision()))
    }

    /// Stores a new object under `key`.
    ///
    /// # Errors
    /// [`CommitError::KeyExists`] with the stored object, or [`CommitError::Closed`].
    pub fn create(
        &self,
        storage: &ResourceStorage,
        key: &str,
        pending: PendingObject,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(storage, key, |present, revision| match present {
            Some(present) => Err(CommitError::KeyExists(present.clone())),
            None => Ok((
                WatchEventType::Added,
                pending.commit(key, revision, &self.shared.decoded_cache),
            )),
        })
    }

    /// Replaces the object under `key` if it is at the revision `expected`.
    ///
    /// # Errors
    /// [`CommitError::KeyNotFound`], [`CommitError::ResourceVersionConflict`] or
    /// [`CommitError::Closed`].
    pub fn replace(
        &self,
        storage: &ResourceStorage,
        key: &str,
        expected: u64,
        pending: PendingObject,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(storage, key, |present, revision| {
            require_revision(present, expected)?;
            Ok((
                WatchEventType::Modified,
                pending.commit(key, revision, &self.shared.decoded_cache),
            ))
        })
    }

    /// Removes the object under `key` if it is at the revision `expected`. Returns `last`, the
    /// final state, at the revision of the removal; watchers receive the same object.
    ///
    /// # Errors
    /// [`CommitError::KeyNotFound`], [`CommitError::ResourceVersionConflict`] or
    /// [`CommitError::Closed`].
    pub fn remove(
        &self,
        storage: &ResourceStorage,
        key: &str,
        expected: u64,
        last: PendingObject,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(storage, key, |present, revision| {
            require_revision(present, expected)?;
            Ok((
                WatchEventType::Deleted,
                last.commit(key, revision, &self.shared.decoded_cache),
            ))
        })
    }

    fn commit(
        &self,
        storage: &ResourceStorage,
        key: &str,
        decide: impl FnOnce(Option<&Arc<Object>>, u64) -> Result<(WatchEventType, Object), CommitError>,
    ) -> Result<Arc<Object>, CommitError> {
        let order = self.shared.commit.lock();
        let mut state = storage.write();
        if state.is_closed() {
            return Err(CommitError::Closed);
        }
        let revision = self.revision() + 1;
        let (kind, object) = decide(state.get(key), revision)?;
        let object = Arc::new(object);
        state.record(kind, object.clone(), &self.shared.limits);
        self.shared.revision.store(revision, Ordering::Release);
        drop(state);
        drop(order);
        storage.notify_watchers();
        if object.size() > 0 {
            self.shared.decoded_cache.insert(&object);
        }
        Ok(object)
    }
}

fn require_revision(present: Option<&Arc<Object>>, expected: u64) -> Result<(), CommitError> {
    match present {
        None => Err(CommitError::KeyNotFound),
        Some(o) if o.revision() != expected => Err(CommitError::ResourceVersionConflict(o.clone())),
        Some(_) => Ok(()),
    }
}
