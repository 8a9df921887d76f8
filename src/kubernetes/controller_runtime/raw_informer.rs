//! [`RawInformer`]: the part of an [`Informer`](super::Informer) that does not depend on the type
//! of the objects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::runtime::watcher::{self, Event};
use parking_lot::{Mutex, RwLock};

use super::indexed_store::{AnyObject, Change, Entry, IndexFunc, IndexedStore};
use super::raw_object::RawObject;
use super::watcher::{WatchError, decode_event};
use super::{ObjectKey, OrderedWatch};

/// Called with every change of the cache.
pub(super) type ResourceEventHandler = Box<dyn Fn(&Change<AnyObject>) + Send + Sync>;

/// Decodes an object.
pub(super) type DecodeFunc = fn(&RawObject) -> serde_json::Result<Entry>;

/// A write of another client, by resource versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedWrite {
    /// The version that a create, update or patch returned.
    Applied(u64),
    /// The last version before a deletion.
    Deleted(u64),
}

/// A cache of objects and the event handlers of its changes.
pub(super) struct RawInformer {
    /// The kind, for logs.
    kind: &'static str,
    pub(super) store: RwLock<IndexedStore>,
    /// Locked while a change is stored and delivered, so that all handlers are called in order.
    handlers: Mutex<Vec<ResourceEventHandler>>,
    /// The latest resource version received from the watch.
    latest_resource_version: AtomicU64,
    pub(super) synced: OrderedWatch<bool>,
}

impl RawInformer {
    pub(super) fn new(kind: &'static str, indexes: Vec<(&'static str, IndexFunc)>) -> Self {
        Self {
            kind,
            store: RwLock::new(IndexedStore::new(indexes)),
            handlers: Mutex::default(),
            latest_resource_version: AtomicU64::new(0),
            synced: OrderedWatch::new(false),
        }
    }

    /// See [`Informer::add_event_handler`](super::Informer::add_event_handler).
    pub(super) fn add_event_handler(&self, handler: ResourceEventHandler) {
        let mut handlers = self.handlers.lock();
        let cached: Vec<Arc<AnyObject>> = {
            let store = self.store.read();
            store.iter().map(|entry| entry.object.clone()).collect()
        };
        for object in cached {
            handler(&Change::Added(object));
        }
        handlers.push(handler);
    }

    /// See [`Informer::observe_write`](super::Informer::observe_write).
    pub(super) fn observe_write(&self, entry: Entry) {
        let handlers = self.handlers.lock();
        let is_newer = match self.store.read().get(&entry.key) {
            Some(cached) => {
                cached.uid == entry.uid && cached.resource_version < entry.resource_version
            }
            // An object at or before the latest watched version that is not cached was deleted.
            None => entry.resource_version > self.latest_resource_version.load(Ordering::Acquire),
        };
        if is_newer {
            let change = self.store.write().put(entry);
            notify_handlers(&handlers, &change);
        }
    }

    /// See [`Informer::has_observed`](super::Informer::has_observed).
    pub(super) fn has_observed(&self, key: &ObjectKey, write: ObservedWrite) -> bool {
        // Locked while a change is delivered.
        let _delivered = self.handlers.lock();
        let cached = self
            .store
            .read()
            .get(key)
            .map(|entry| entry.resource_version);
        match (write, cached) {
            (ObservedWrite::Applied(version), Some(cached)) => cached >= version,
            // Deleted since.
            (ObservedWrite::Applied(version), None) => {
                self.latest_resource_version.load(Ordering::Acquire) >= version
            }
            (ObservedWrite::Deleted(version), Some(cached)) => cached > version,
            (ObservedWrite::Deleted(_), None) => true,
        }
    }

    /// Applies the events of a watch. When it ends, or its task is dropped, the event handlers are
    /// removed.
    pub(super) async fn list_and_watch(
        &self,
        mut events: BoxStream<'static, watcher::Result<Event<RawObject>>>,
        decode: DecodeFunc,
    ) {
        let _handlers = RemoveHandlers(self);
        let mut listed: Option<BTreeSet<ObjectKey>> = None;
        while let Some(event) = events.next().await {
            let event = event.map_err(WatchError::from);
            match event.and_then(|event| decode_event(event, decode)) {
                Ok(Event::Init) => listed = Some(BTreeSet::new()),
                Ok(Event::InitApply(entry)) => {
                    if let Some(listed) = &mut listed {
                        listed.insert(entry.key.clone());
                    }
                    self.apply(entry);
                }
                Ok(Event::InitDone) => {
                    if let Some(listed) = listed.take() {
                        self.delete_unlisted(&listed);
                    }
                    self.synced.replace(true);
                }
                Ok(Event::Apply(entry)) => self.apply(entry),
                Ok(Event::Delete(entry)) => self.delete(entry),
                Err(WatchError::InvalidObject {
                    key,
                    deleted,
                    error,
                }) => {
                    let kind = self.kind;
                    tracing::warn!(kind, %key, %error, "cannot decode an object; its cached version stays");
                    match (deleted, &mut listed) {
                        (true, _) => self.delete_key(&key),
                        (false, Some(listed)) => drop(listed.insert(key)),
                        (false, None) => {}
                    }
                }
                Err(WatchError::Request(error)) => {
                    let kind = self.kind;
                    tracing::debug!(kind, %error, "a watch was interrupted and will be retried");
                }
            }
        }
    }

    fn apply(&self, entry: Entry) {
        let handlers = self.handlers.lock();
        let version = entry.resource_version;
        self.latest_resource_version
            .fetch_max(version, Ordering::AcqRel);
        let old = {
            let store = self.store.read();
            let cached = store.get(&entry.key);
            cached.map(|old| (old.uid == entry.uid, old.resource_version))
        };
        match old {
            Some((false, _)) => {
                // Deleted and recreated between two events: another uid.
                let deleted = self.store.write().remove(&entry.key);
                deleted
                    .iter()
                    .for_each(|change| notify_handlers(&handlers, change));
            }
            Some((true, cached)) if version != 0 && cached >= version => return,
            _ => {}
        }
        let change = self.store.write().put(entry);
        notify_handlers(&handlers, &change);
    }

    fn delete(&self, entry: Entry) {
        let handlers = self.handlers.lock();
        self.latest_resource_version
            .fetch_max(entry.resource_version, Ordering::AcqRel);
        let deleted = {
            let mut store = self.store.write();
            // The final version is delivered: the deletion may have changed the object.
            if store.get(&entry.key).is_none() {
                return;
            }
            let key = entry.key.clone();
            store.put(entry);
            store.remove(&key)
        };
        deleted
            .iter()
            .for_each(|change| notify_handlers(&handlers, change));
    }

    /// Deletes the objects that the list does not contain.
    fn delete_unlisted(&self, listed: &BTreeSet<ObjectKey>) {
        let deleted: Vec<ObjectKey> = {
            let store = self.store.read();
            let keys = store.iter().map(|entry| &entry.key);
            keys.filter(|key| !listed.contains(key)).cloned().collect()
        };
        for key in deleted {
            self.delete_key(&key);
        }
    }

    fn delete_key(&self, key: &ObjectKey) {
        let handlers = self.handlers.lock();
        let change = self.store.write().remove(key);
        change
            .iter()
            .for_each(|change| notify_handlers(&handlers, change));
    }
}

/// Removes the event handlers of an informer when it is dropped: they may own the owner of the
/// informer.
struct RemoveHandlers<'a>(&'a RawInformer);

impl Drop for RemoveHandlers<'_> {
    fn drop(&mut self) {
        // Dropped without the lock, since a handler can own another informer.
        let handlers = std::mem::take(&mut *self.0.handlers.lock());
        drop(handlers);
    }
}

fn notify_handlers(handlers: &[ResourceEventHandler], change: &Change<AnyObject>) {
    for handler in handlers {
        handler(change);
    }
}
