//! [`Informer`]: lists and watches the objects of a kind, caches them and calls event handlers with
//! every change.
//!
//! `metadata.managedFields` is dropped from cached objects: no controller reads it, and it is the
//! larger part of many objects. The API server keeps the entries when an update contains none.

use std::marker::PhantomData;
use std::sync::Arc;

use kube::Resource;
use kube::runtime::watcher::Config;
use kueue_lab_codec::Codec;

use super::indexed_store::{AnyObject, Change, Entry, IndexFunc};
use super::raw_informer::{ObservedWrite, RawInformer};
use super::raw_object::RawObject;
use super::watcher::watch_raw;
use super::{Api, Context, ObjectKey};

/// The configuration of an informer that is not started.
pub struct InformerBuilder<K> {
    api: Api<K>,
    config: Config,
    indexes: Vec<(&'static str, IndexFunc)>,
}

impl<K> InformerBuilder<K>
where
    K: Resource + Clone + Codec + Send + Sync + 'static,
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
        let of = move |object: &AnyObject| object.downcast_ref().map(&of).unwrap_or_default();
        self.indexes.push((name, Box::new(of)));
        self
    }

    /// Starts the informer in the tasks of `context`.
    pub fn start(self, context: &Context) -> Informer<K> {
        let raw = Arc::new(RawInformer::new(std::any::type_name::<K>(), self.indexes));
        let config = match context.streaming_lists {
            true => self.config.streaming_lists(),
            false => self.config,
        };
        let events = watch_raw(self.api, config);
        let decode = |raw: &RawObject| raw.decode_shared(K::decode).map(Entry::of);
        let informer = raw.clone();
        context.tasks.spawn("informer", async move {
            informer.list_and_watch(events, decode).await;
        });
        Informer {
            raw,
            kind: PhantomData,
        }
    }
}

/// A cache of the objects of a kind, kept current by a watch. Clones share the cache.
pub struct Informer<K> {
    raw: Arc<RawInformer>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            kind: PhantomData,
        }
    }
}

impl<K: Send + Sync + 'static> Informer<K> {
    /// The object with the given key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let object = self.raw.store.read().get(key)?.object.clone();
        object.downcast().ok()
    }

    /// All objects, by namespace and name.
    pub fn list(&self) -> Vec<Arc<K>> {
        let store = self.raw.store.read();
        typed(store.iter().map(|entry| entry.object.clone()))
    }

    /// The objects of one namespace, by name.
    pub fn list_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let store = self.raw.store.read();
        let entries = store.list_namespace(namespace);
        typed(entries.map(|entry| entry.object.clone()))
    }

    /// The objects with the given index value, by namespace and name.
    pub fn by_index(&self, index: &str, value: &str) -> Vec<Arc<K>> {
        typed(self.raw.store.read().by_index(index, value))
    }

    /// The number of cached objects.
    pub fn len(&self) -> usize {
        self.raw.store.read().len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until the initial list is in the cache.
    pub async fn wait_for_cache_sync(&self) {
        self.raw.synced.wait_for(|done| *done).await;
    }

    /// Whether the cache has a write of another client, or a later one of that object, and the event handlers were
    /// called with it. Not for handlers, which would wait for themselves.
    pub fn has_observed(&self, key: &ObjectKey, write: ObservedWrite) -> bool {
        self.raw.has_observed(key, write)
    }

    /// Adds an event handler. It is called with every change after the cache is updated, and at
    /// once with [`Change::Added`] for each cached object. The handler may read this informer, but
    /// must not add handlers or call [`observe_write`](Self::observe_write), and must not block: it
    /// usually adds a key to a work queue, which returns without waiting.
    pub fn add_event_handler(&self, handler: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.raw.add_event_handler(Box::new(move |change| {
            if let Some(change) = change.downcast() {
                handler(&change);
            }
        }));
    }
}

/// The objects of type `K`; the cache of an informer contains no others.
fn typed<K: Send + Sync + 'static>(
    objects: impl IntoIterator<Item = Arc<AnyObject>>,
) -> Vec<Arc<K>> {
    let typed = objects.into_iter().map(|object| object.downcast().ok());
    typed.flatten().collect()
}

impl<K> Informer<K>
where
    K: Resource + Clone + Codec + Send + Sync + 'static,
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
    K: Resource + Clone + Codec + Send + Sync + 'static,
{
    /// Stores the response to the caller's own write before the watch delivers it, so that the next
    /// reconcile does not read a stale object. Responses older than the cached version are ignored.
    pub fn observe_write(&self, object: Arc<K>) {
        self.raw.observe_write(Entry::of(object));
    }
}
