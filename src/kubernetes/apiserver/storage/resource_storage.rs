//! The objects of one kind and their watch history.

use std::collections::VecDeque;
use std::sync::Arc;

use imbl::OrdMap;
use kueue_lab_clock::Clock;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::decoded_cache::DecodedCache;
use super::persistence::RestoredObject;
use super::watch_scope::WatchScopes;
use super::{Object, StorageLimits, WatchEvent, WatchEventType};

/// The objects of one kind, ordered by key, and the recent events.
#[derive(Debug)]
pub struct ResourceStorage {
    /// The resource, as `group/plural` of the storage version.
    resource: Arc<str>,
    state: RwLock<StorageState>,
    /// Wakes the watchers of all objects. A `Notify` wakes them in the order they waited; a `watch`
    /// channel would use a random order, and runs in virtual time must be reproducible.
    changed: Notify,
    /// The watchers of some objects.
    pub(super) scopes: WatchScopes,
}

#[derive(Debug)]
pub(super) struct StorageState {
    pub(super) objects: OrdMap<Arc<str>, Arc<Object>>,
    events: VecDeque<Arc<WatchEvent>>,
    bytes: usize,
    /// All events after this revision are in `events`.
    pub(super) compacted_revision: u64,
    closed: bool,
}

impl ResourceStorage {
    pub(super) fn new(resource: &str, revision: u64) -> Self {
        Self {
            resource: resource.into(),
            state: RwLock::new(StorageState {
                objects: OrdMap::new(),
                events: VecDeque::new(),
                bytes: 0,
                compacted_revision: revision,
                closed: false,
            }),
            changed: Notify::new(),
            scopes: WatchScopes::default(),
        }
    }

    /// The resource, as `group/plural` of the storage version.
    pub fn resource(&self) -> &Arc<str> {
        &self.resource
    }

    /// The latest version of the object under `key`, which may not be durable yet.
    pub fn get(&self, key: &str) -> Option<Arc<Object>> {
        self.read().objects.get(key).cloned()
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends all watches and rejects further commits: the kind is no longer served.
    pub fn close(&self) {
        self.write().closed = true;
        self.changed.notify_waiters();
        self.scopes.notify_all();
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, StorageState> {
        self.state.read()
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, StorageState> {
        self.state.write()
    }

    /// Wakes the watchers that read one of these keys.
    pub(super) fn notify_watchers<'k>(&self, keys: impl IntoIterator<Item = &'k str>) {
        self.changed.notify_waiters();
        for key in keys {
            self.scopes.notify(key);
        }
    }

    /// Completes at the first notification of all objects after this call.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }
}

impl StorageState {
    pub(super) fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Adds the objects that were read from durable storage.
    pub(super) fn restore(&mut self, restored: Vec<RestoredObject>, cache: &Arc<DecodedCache>) {
        // Preinstalled objects are created again.
        let objects = restored.into_iter();
        let objects = objects.filter_map(|restored| Object::restore(restored, cache));
        self.objects = objects.map(|o| (o.key_shared(), Arc::new(o))).collect();
    }

    /// All objects, as they are read from durable storage.
    pub(super) fn to_restored(&self) -> Vec<RestoredObject> {
        let restored = |(key, object): (&Arc<str>, &Arc<Object>)| RestoredObject {
            key: key.to_string(),
            revision: object.revision(),
            content: object.stored_content(),
        };
        self.objects.iter().map(restored).collect()
    }

    /// Applies a change and appends its event at the time of `clock`. Events after the revision
    /// `durable` are not compacted. Returns the events that leave the history, to be dropped
    /// without a lock.
    pub(super) fn record(
        &mut self,
        kind: WatchEventType,
        object: Arc<Object>,
        limits: &StorageLimits,
        durable: u64,
        scopes: &WatchScopes,
        clock: &Clock,
    ) -> Vec<Arc<WatchEvent>> {
        let (now, speed) = (clock.now(), clock.speed());
        let key = object.key_shared();
        let before = match kind {
            WatchEventType::Deleted => self.objects.remove(&key),
            WatchEventType::Added | WatchEventType::Modified => {
                self.objects.insert(key, object.clone())
            }
        };
        let size = object.size();
        self.bytes += size;
        self.events.push_back(Arc::new(WatchEvent {
            event_type: kind,
            object,
            prev_object: before,
            size,
            record_time: now,
        }));
        let mut compacted = Vec::new();
        loop {
            let (events, bytes) = (self.events.len(), self.bytes);
            let Some(oldest) = self.events.pop_front_if(|oldest| {
                oldest.revision() <= durable
                    && limits.are_exceeded(events, bytes, oldest.age(now), speed)
            }) else {
                break;
            };
            self.bytes -= oldest.size;
            self.compacted_revision = oldest.revision();
            scopes.compact(oldest.object.key(), oldest.revision());
            compacted.push(oldest);
        }
        compacted
    }

    /// Reverts all changes after `revision`.
    pub(super) fn revert_after(&mut self, revision: u64) {
        while let Some(event) = self.events.pop_back_if(|e| e.revision() > revision) {
            self.bytes -= event.size;
            match &event.prev_object {
                Some(before) => self.objects.insert(before.key_shared(), before.clone()),
                None => self.objects.remove(event.object.key()),
            };
        }
    }

    /// The events after `revision`, oldest first. The caller has checked the compacted revision.
    pub(super) fn events_after(
        &self,
        revision: u64,
    ) -> impl DoubleEndedIterator<Item = &Arc<WatchEvent>> {
        let start = self.events.partition_point(|e| e.revision() <= revision);
        self.events.range(start..)
    }
}
