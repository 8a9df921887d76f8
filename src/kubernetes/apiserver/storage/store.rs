//! The store of all resources: revisions, transactions, watch history.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kueue_lab_clock::Clock;
use parking_lot::Mutex;
use serde_json::Value;

use super::commit_error::CommitError;
use super::decoded_cache::DecodedCache;
use super::durability::Durability;
use super::limits::StorageLimits;
use super::object::{Object, PendingObject};
use super::persistence::{Change, Persistence, PersistenceError, RestoredState};
use super::resource_storage::ResourceStorage;
use super::store_snapshot::{StoreSnapshot, StoredMap};
use super::watch_event::WatchEventType;

/// The resources (`group/plural` of the storage version) that change in a cluster without work.
const NOT_STATE: [&str; 3] = [
    "coordination.k8s.io/leases",
    "events.k8s.io/events",
    "/events",
];

/// The store of one API server. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Serializes commits, so that revisions become visible in order.
    commit: Arc<Mutex<()>>,
    revision: Arc<AtomicU64>,
    /// The revision of the latest commit that is not a heartbeat or an Event.
    state_revision: AtomicU64,
    /// The time of events in the watch history.
    clock: Clock,
    limits: StorageLimits,
    decoded_cache: Arc<DecodedCache>,
    /// `None` if the store is in memory only.
    durability: Option<Arc<Durability>>,
    /// The objects of a snapshot whose resources have no storage yet.
    unserved: Mutex<BTreeMap<String, StoredMap>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(durability) = &self.durability {
            durability.close();
        }
    }
}

impl Store {
    /// An empty store at revision 1, in memory only.
    pub fn new(clock: Clock, limits: StorageLimits) -> Self {
        Self::with_durability(clock, limits, 1, None)
    }

    /// A store with restored objects, whose writes are durable before they can be read.
    ///
    /// # Errors
    /// The thread that writes cannot be started.
    pub fn durable(
        clock: Clock,
        limits: StorageLimits,
        restored: RestoredState,
        persistence: Box<dyn Persistence>,
    ) -> std::io::Result<Self> {
        let revision = restored.revision.max(1);
        let durability = Arc::new(Durability::new(restored));
        let store = Self::with_durability(clock, limits, revision, Some(durability.clone()));
        let (commit, latest) = (store.shared.commit.clone(), store.shared.revision.clone());
        durability.start(persistence, commit, latest)?;
        Ok(store)
    }

    fn with_durability(
        clock: Clock,
        limits: StorageLimits,
        revision: u64,
        durability: Option<Arc<Durability>>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                commit: Arc::default(),
                revision: Arc::new(AtomicU64::new(revision)),
                state_revision: AtomicU64::new(revision),
                clock,
                limits,
                decoded_cache: Arc::new(DecodedCache::new(limits.decoded_cache_bytes)),
                durability,
                unserved: Mutex::default(),
            }),
        }
    }

    /// A store in memory with the state of a snapshot.
    pub(super) fn starting_at(
        clock: Clock,
        limits: StorageLimits,
        snapshot: &StoreSnapshot,
    ) -> Self {
        let store = Self::with_durability(clock, limits, snapshot.revision, None);
        let shared = &store.shared;
        *shared.unserved.lock() = snapshot.objects.clone();
        let state_revision = snapshot.state_revision;
        shared
            .state_revision
            .store(state_revision, Ordering::Release);
        store
    }

    /// Runs a function while no commit takes place.
    pub(super) fn between_commits<T>(&self, function: impl FnOnce() -> T) -> T {
        let _order = self.shared.commit.lock();
        function()
    }

    /// The revision of the latest commit in any storage. All commits up to it are visible to
    /// writers.
    pub fn revision(&self) -> u64 {
        self.shared.revision.load(Ordering::Acquire)
    }

    /// The revision of the latest commit in any storage except those of Leases and Events, which
    /// change in a cluster without work.
    pub fn state_revision(&self) -> u64 {
        self.shared.state_revision.load(Ordering::Acquire)
    }

    /// The revision that reads and watches return: all commits up to it are durable.
    pub fn durable_revision(&self) -> u64 {
        match &self.shared.durability {
            Some(durability) => durability.durable_revision(),
            None => self.revision(),
        }
    }

    /// Whether writes are made durable.
    pub(crate) fn is_durable(&self) -> bool {
        self.shared.durability.is_some()
    }

    /// Runs a request that writes and waits until its writes, and the state it has read, are
    /// durable.
    ///
    /// # Errors
    /// [`PersistenceError`]: a write was rejected, or reverted because it could not be made
    /// durable.
    pub async fn durably<T>(
        &self,
        request: impl Future<Output = T>,
    ) -> Result<T, PersistenceError> {
        match &self.shared.durability {
            Some(durability) => durability.durably(request, || self.revision()).await,
            None => Ok(request.await),
        }
    }

    /// Makes all commits so far durable and ends the thread that writes. No commit may follow.
    pub fn close(&self) {
        if let Some(durability) = &self.shared.durability {
            durability.close();
        }
    }

    /// The storage of a resource (`group/plural`), with its objects of a snapshot or of durable
    /// storage. Its history starts at the current revision.
    pub fn new_resource_storage(&self, resource: &str) -> Arc<ResourceStorage> {
        let storage = ResourceStorage::new(resource, self.revision());
        let durability = self.shared.durability.as_ref();
        if let Some(restored) = durability.and_then(|d| d.take_unserved(resource)) {
            storage
                .write()
                .restore(restored, &self.shared.decoded_cache);
        }
        if let Some(objects) = self.shared.unserved.lock().remove(resource) {
            storage.write().objects = objects;
        }
        Arc::new(storage)
    }

    /// Kind, apiVersion and metadata that a preinstalled object of a resource (`group/plural`) had
    /// before the restart.
    pub fn preinstalled(&self, resource: &str, key: &str) -> Option<&Value> {
        let durability = self.shared.durability.as_ref()?;
        durability.preinstalled(resource, key)
    }

    /// Closes the storage of a resource that is no longer served, and drops its objects.
    pub(crate) fn close_resource_storage(&self, storage: &Arc<ResourceStorage>) {
        let _order = self.shared.commit.lock();
        storage.close();
        if let Some(durability) = &self.shared.durability {
            let change = Change::RemoveResource {
                resource: storage.resource().clone(),
                revision: self.revision(),
            };
            durability.push(change, storage);
        }
    }

    /// Stores a new object under `key`.
    ///
    /// # Errors
    /// [`CommitError::KeyExists`] with the stored object, or [`CommitError::Closed`].
    pub fn create(
        &self,
        storage: &Arc<ResourceStorage>,
        key: &str,
        pending: PendingObject,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(storage, key, false, |present, revision| match present {
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
        storage: &Arc<ResourceStorage>,
        key: &str,
        expected: u64,
        pending: PendingObject,
    ) -> Result<Arc<Object>, CommitError> {
        let is_deletion = pending.is_terminating();
        self.commit(storage, key, is_deletion, |present, revision| {
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
        storage: &Arc<ResourceStorage>,
        key: &str,
        expected: u64,
        last: PendingObject,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(storage, key, true, |present, revision| {
            require_revision(present, expected)?;
            Ok((
                WatchEventType::Deleted,
                last.commit(key, revision, &self.shared.decoded_cache),
            ))
        })
    }

    fn commit(
        &self,
        storage: &Arc<ResourceStorage>,
        key: &str,
        is_deletion: bool,
        decide: impl FnOnce(Option<&Arc<Object>>, u64) -> Result<(WatchEventType, Object), CommitError>,
    ) -> Result<Arc<Object>, CommitError> {
        let durability = self.shared.durability.as_ref();
        let order = self.shared.commit.lock();
        if let Some(rejection) = durability.and_then(|d| d.rejection(is_deletion)) {
            return Err(CommitError::NotDurable(rejection));
        }
        let mut state = storage.write();
        if state.is_closed() {
            return Err(CommitError::Closed);
        }
        let revision = self.revision() + 1;
        let (kind, object) = decide(state.get(key), revision)?;
        let object = Arc::new(object);
        let durable = match durability {
            Some(durability) => durability.durable_revision(),
            None => revision,
        };
        let (limits, clock) = (&self.shared.limits, &self.shared.clock);
        let compacted = state.record(
            kind,
            object.clone(),
            limits,
            durable,
            &storage.scopes,
            clock,
        );
        self.shared.revision.store(revision, Ordering::Release);
        if !NOT_STATE.contains(&&**storage.resource()) {
            self.shared
                .state_revision
                .store(revision, Ordering::Release);
        }
        drop(state);
        match durability {
            Some(durability) => {
                durability.push(change(kind, storage, &object), storage);
                drop(order);
            }
            None => {
                drop(order);
                storage.notify_watchers([object.key()]);
            }
        }
        drop(compacted);
        if object.size() > 0 {
            self.shared.decoded_cache.insert(&object);
        }
        Ok(object)
    }
}

fn change(kind: WatchEventType, storage: &ResourceStorage, object: &Arc<Object>) -> Change {
    let resource = storage.resource().clone();
    match kind {
        WatchEventType::Deleted => Change::Remove {
            resource,
            key: object.key_shared(),
            revision: object.revision(),
        },
        WatchEventType::Added | WatchEventType::Modified => Change::Put {
            resource,
            object: object.clone(),
        },
    }
}

fn require_revision(present: Option<&Arc<Object>>, expected: u64) -> Result<(), CommitError> {
    match present {
        None => Err(CommitError::KeyNotFound),
        Some(o) if o.revision() != expected => Err(CommitError::ResourceVersionConflict(o.clone())),
        Some(_) => Ok(()),
    }
}
