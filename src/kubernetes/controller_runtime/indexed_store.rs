//! The cache of an informer with its indexes, client-go's `cache.Indexer`.
//!
//! The cache holds objects of any type, so that the compiler generates its code once.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kube::{Resource, ResourceExt};

use super::ObjectKey;

/// An object of any kind.
pub(super) type AnyObject = dyn Any + Send + Sync;

/// An object and its identity.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: ObjectKey,
    pub(super) uid: Option<String>,
    /// 0 if unknown. Since Kubernetes 1.35 the resource versions of one kind are documented to be
    /// comparable integers; earlier API servers use increasing integers as well.
    pub(super) resource_version: u64,
    pub(super) object: Arc<AnyObject>,
}

impl Entry {
    /// The entry of `object`, without the `metadata.managedFields` of the response to a write.
    pub(super) fn of<K>(mut object: Arc<K>) -> Self
    where
        K: Resource + Clone + Send + Sync + 'static,
    {
        if object.meta().managed_fields.is_some() {
            Arc::make_mut(&mut object).meta_mut().managed_fields = None;
        }
        let version = object.meta().resource_version.as_deref();
        Self {
            key: ObjectKey::of(object.as_ref()),
            uid: object.uid(),
            resource_version: version.and_then(|v| v.parse().ok()).unwrap_or(0),
            object,
        }
    }
}

/// A change of an object, as passed to the event handlers of an informer.
#[derive(Debug)]
pub enum Change<K: ?Sized> {
    /// The object was added to the cache.
    Added(Arc<K>),
    /// The object in the cache was replaced.
    Updated {
        /// The replaced version.
        old: Arc<K>,
        /// The current version.
        new: Arc<K>,
    },
    /// The object was deleted; this is its last known version.
    Deleted(Arc<K>),
}

impl<K: ?Sized> Clone for Change<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(new) => Self::Added(new.clone()),
            Self::Updated { old, new } => Self::Updated {
                old: old.clone(),
                new: new.clone(),
            },
            Self::Deleted(old) => Self::Deleted(old.clone()),
        }
    }
}

impl<K: ?Sized> Change<K> {
    /// The current version of the object, or the last known one of a deleted object.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added(new) | Self::Updated { new, .. } => new,
            Self::Deleted(old) => old,
        }
    }
}

impl Change<AnyObject> {
    /// The change with objects of type `K`; `None` if they are of another type.
    pub(super) fn downcast<K: Send + Sync + 'static>(&self) -> Option<Change<K>> {
        let typed = |object: &Arc<AnyObject>| object.clone().downcast::<K>().ok();
        Some(match self {
            Self::Added(new) => Change::Added(typed(new)?),
            Self::Updated { old, new } => Change::Updated {
                old: typed(old)?,
                new: typed(new)?,
            },
            Self::Deleted(old) => Change::Deleted(typed(old)?),
        })
    }
}

/// Returns the index values of an object, client-go's `cache.IndexFunc`.
pub(super) type IndexFunc = Box<dyn Fn(&AnyObject) -> Vec<String> + Send + Sync>;

/// One index.
struct Index {
    name: &'static str,
    of: IndexFunc,
    entries: HashMap<String, BTreeSet<ObjectKey>>,
}

/// Objects by key, and keys by index value.
pub(super) struct IndexedStore {
    objects: BTreeMap<ObjectKey, Entry>,
    indexes: Vec<Index>,
}

impl IndexedStore {
    pub(super) fn new(indexes: Vec<(&'static str, IndexFunc)>) -> Self {
        let indexes = indexes
            .into_iter()
            .map(|(name, of)| Index {
                name,
                of,
                entries: HashMap::new(),
            })
            .collect();
        Self {
            objects: BTreeMap::new(),
            indexes,
        }
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Entry> {
        self.objects.get(key)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.objects.values()
    }

    /// Objects of one namespace, in the order of their names.
    pub(super) fn list_namespace<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Entry> {
        self.objects
            .range(ObjectKey::new(namespace, "")..)
            .take_while(move |(key, _)| key.namespace == namespace)
            .map(|(_, object)| object)
    }

    /// The objects with the given index value, by namespace and name. An unknown index is a bug of
    /// the caller; the result is then empty.
    pub(super) fn by_index(&self, index: &str, value: &str) -> Vec<Arc<AnyObject>> {
        let found = self.indexes.iter().find(|i| i.name == index);
        debug_assert!(found.is_some(), "no index {index}");
        found
            .and_then(|i| i.entries.get(value))
            .into_iter()
            .flatten()
            .filter_map(|key| Some(self.objects.get(key)?.object.clone()))
            .collect()
    }

    pub(super) fn put(&mut self, entry: Entry) -> Change<AnyObject> {
        let new = entry.object.clone();
        let key = entry.key.clone();
        let old = self.objects.insert(key.clone(), entry).map(|e| e.object);
        for index in &mut self.indexes {
            let before = old.as_deref().map(&index.of).unwrap_or_default();
            let after = (index.of)(&*new);
            if before == after {
                continue;
            }
            for value in before {
                index.remove(&value, &key);
            }
            for value in after {
                index.entries.entry(value).or_default().insert(key.clone());
            }
        }
        match old {
            Some(old) => Change::Updated { old, new },
            None => Change::Added(new),
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Change<AnyObject>> {
        let old = self.objects.remove(key)?.object;
        for index in &mut self.indexes {
            for value in (index.of)(&*old) {
                index.remove(&value, key);
            }
        }
        Some(Change::Deleted(old))
    }
}

impl Index {
    fn remove(&mut self, value: &str, key: &ObjectKey) {
        if let Some(keys) = self.entries.get_mut(value) {
            keys.remove(key);
            if keys.is_empty() {
                self.entries.remove(value);
            }
        }
    }
}
