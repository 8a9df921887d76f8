//! [`Informer`]: lists and watches the objects of a kind, caches them and calls event handlers with
//! every change.
//!
//! `metadata.managedFields` is dropped from cached objects: no controller reads it, and it is the
//! larger part of many objects. The API server keeps the entries when an update contains none.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use kube::runtime::watcher::{Config, Event};
use kube::{Resource, ResourceExt};
use parking_lot::{Mutex, RwLock};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::indexed_store::{Change, IndexFunc, IndexedStore};
use super::watcher::{WatchError, watcher};
use super::{Api, Context, ObjectKey};

/// Called with every change of the cache.
type ResourceEventHandler<K> = Box<dyn Fn(&Change<K>) + Send + Sync>;

/// The configuration of an informer that is not started.
pub struct InformerBuilder<K> {
    api: Api<K>,
    config: Config,
    indexes: Vec<(&'static str, IndexFunc<K>)>,
}

impl<K> InformerBuilder<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Sets selectors and list options.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Adds an index with the given index function.
    pub fn index(
        mut self,
        name: &'static str,
        of: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.indexes.push((name, Box::new(of)));
        self
    }

    /// Starts the informer in the tasks of `context`.
    pub fn start(self, context: &Context) -> Informer<K> {
        let (synced, _) = watch::channel(false);
        let informer = Informer {
            shared: Arc::new(Shared {
                store: RwLock::new(IndexedStore::new(self.indexes)),
                handlers: Mutex::default(),
                latest_resource_version: AtomicU64::new(0),
                synced,
            }),
        };
        let follow = informer.clone();
        context.tasks.spawn("informer", async move {
            follow.list_and_watch(self.api, self.config).await;
        });
        informer
    }
}

/// A cache of the objects of a kind, kept current by a watch. Clones share the cache.
pub struct Informer<K> {
    shared: Arc<Shared<K>>,
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

struct Shared<K> {
    store: RwLock<IndexedStore<K>>,
    /// Locked while a change is stored and delivered, so that all handlers are called in order.
    handlers: Mutex<Vec<ResourceEventHandler<K>>>,
    /// The latest resource version received from the watch.
    latest_resource_version: AtomicU64,
    synced: watch::Sender<bool>,
}

impl<K> Informer<K> {
    /// The object with the given key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.shared.store.read().get(key).cloned()
    }

    /// All objects, by namespace and name.
    pub fn list(&self) -> Vec<Arc<K>> {
        let store = self.shared.store.read();
        store.iter().map(|(_, object)| object.clone()).collect()
    }

    /// The objects of one namespace, by name.
    pub fn list_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.shared
            .store
            .read()
            .list_namespace(namespace)
            .cloned()
            .collect()
    }

    /// The objects with the given index value, by namespace and name.
    pub fn by_index(&self, index: &str, value: &str) -> Vec<Arc<K>> {
        self.shared.store.read().by_index(index, value)
    }

    /// The number of cached objects.
    pub fn len(&self) -> usize {
        self.shared.store.read().len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until the initial list is in the cache.
    pub async fn wait_for_cache_sync(&self) {
        let mut synced = self.shared.synced.subscribe();
        // The sender is not dropped before this handle.
        let _ = synced.wait_for(|done| *done).await;
    }

    /// Whether the initial list is in the cache.
    pub fn has_synced(&self) -> bool {
        *self.shared.synced.borrow()
    }

    /// Adds an event handler. It is called with every change after the cache is updated, and at
    /// once with [`Change::Added`] for each cached object. The handler may read this informer, but
    /// must not add handlers or call [`observe_write`](Self::observe_write), and must not block: it
    /// usually adds a key to a work queue, which returns without waiting.
    pub fn add_event_handler(&self, handler: impl Fn(&Change<K>) + Send + Sync + 'static) {
        let mut handlers = self.shared.handlers.lock();
        let known = self.list();
        for object in known {
            handler(&Change::Added(object));
        }
        handlers.push(Box::new(handler));
    }
}

impl<K> Informer<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Configures an informer of the objects of `api`.
    pub fn builder(api: Api<K>) -> InformerBuilder<K> {
        InformerBuilder {
            api,
            config: Config::default(),
            indexes: Vec::new(),
        }
    }
}

impl<K> Informer<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Stores the response to the caller's own write before the watch delivers it, so that the next
    /// reconcile does not read a stale object. Responses older than the cached version are ignored.
    pub fn observe_write(&self, mut object: Arc<K>) {
        if object.meta().managed_fields.is_some() {
            Arc::make_mut(&mut object).meta_mut().managed_fields = None;
        }
        let handlers = self.shared.handlers.lock();
        let key = ObjectKey::of(object.as_ref());
        let version = resource_version(object.as_ref());
        let news = match self.shared.store.read().get(&key) {
            Some(known) => {
                known.uid() == object.uid() && resource_version(known.as_ref()) < version
            }
            // An object at or before the latest watched version that is not cached was deleted.
            None => version > self.shared.latest_resource_version.load(Ordering::Acquire),
        };
        if news {
            let change = self.shared.store.write().put(key, object);
            notify_handlers(&handlers, &change);
        }
    }

    async fn list_and_watch(&self, api: Api<K>, config: Config) {
        let mut events = std::pin::pin!(watcher(api, config));
        let mut listed: Option<BTreeSet<ObjectKey>> = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed = Some(BTreeSet::new()),
                Ok(Event::InitApply(object)) => {
                    if let Some(listed) = &mut listed {
                        listed.insert(ObjectKey::of(&object));
                    }
                    self.apply(object);
                }
                Ok(Event::InitDone) => {
                    if let Some(listed) = listed.take() {
                        self.delete_unlisted(&listed);
                    }
                    self.shared.synced.send_replace(true);
                }
                Ok(Event::Apply(object)) => self.apply(object),
                Ok(Event::Delete(object)) => self.delete(object),
                Err(WatchError::InvalidObject {
                    key,
                    deleted,
                    error,
                }) => {
                    let kind = std::any::type_name::<K>();
                    tracing::warn!(kind, %key, %error, "cannot decode an object; its cached version stays");
                    match (deleted, &mut listed) {
                        (true, _) => self.delete_key(&key),
                        (false, Some(listed)) => drop(listed.insert(key)),
                        (false, None) => {}
                    }
                }
                Err(WatchError::Request(error)) => {
                    let kind = std::any::type_name::<K>();
                    tracing::debug!(kind, %error, "a watch was interrupted and will be retried");
                }
            }
        }
    }

    fn apply(&self, mut object: K) {
        object.meta_mut().managed_fields = None;
        let handlers = self.shared.handlers.lock();
        let version = resource_version(&object);
        self.shared
            .latest_resource_version
            .fetch_max(version, Ordering::AcqRel);
        let key = ObjectKey::of(&object);
        let old = self.shared.store.read().get(&key).cloned();
        match old {
            Some(old) if old.uid() != object.uid() => {
                // Deleted and recreated between two events: another uid.
                let gone = self.shared.store.write().remove(&key);
                gone.iter()
                    .for_each(|change| notify_handlers(&handlers, change));
            }
            Some(old) if version != 0 && resource_version(old.as_ref()) >= version => return,
            _ => {}
        }
        let change = self.shared.store.write().put(key, Arc::new(object));
        notify_handlers(&handlers, &change);
    }

    fn delete(&self, mut object: K) {
        object.meta_mut().managed_fields = None;
        let handlers = self.shared.handlers.lock();
        self.shared
            .latest_resource_version
            .fetch_max(resource_version(&object), Ordering::AcqRel);
        let key = ObjectKey::of(&object);
        let gone = {
            let mut store = self.shared.store.write();
            // The final version is delivered: the deletion may have changed the object.
            if store.get(&key).is_none() {
                return;
            }
            store.put(key.clone(), Arc::new(object));
            store.remove(&key)
        };
        gone.iter()
            .for_each(|change| notify_handlers(&handlers, change));
    }

    fn delete_unlisted(&self, listed: &BTreeSet<ObjectKey>) {
        let handlers = self.shared.handlers.lock();
        let gone: Vec<ObjectKey> = {
            let store = self.shared.store.read();
            let unlisted = store.iter().filter(|(key, _)| !listed.contains(key));
            unlisted.map(|(key, _)| key.clone()).collect()
        };
        for key in gone {
            let change = self.shared.store.write().remove(&key);
            change
                .iter()
                .for_each(|change| notify_handlers(&handlers, change));
        }
    }

    /// Deletes an object whose final version cannot be decoded.
    fn delete_key(&self, key: &ObjectKey) {
        let handlers = self.shared.handlers.lock();
        let change = self.shared.store.write().remove(key);
        change
            .iter()
            .for_each(|change| notify_handlers(&handlers, change));
    }
}

fn notify_handlers<K>(handlers: &[ResourceEventHandler<K>], change: &Change<K>) {
    for handler in handlers {
        handler(change);
    }
}

/// The resource version as a number. Since Kubernetes 1.35 the resource versions of one kind are
/// documented to be comparable integers; earlier API servers use increasing integers as well.
fn resource_version<K: Resource>(object: &K) -> u64 {
    let version = object.meta().resource_version.as_deref();
    version.and_then(|v| v.parse().ok()).unwrap_or(0)
}
