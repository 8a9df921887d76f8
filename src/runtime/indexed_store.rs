//! The cache of an informer with its indexes, client-go's `cache.Indexer`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::ObjectKey;

/// A change of an object, as passed to the event handlers of an informer.
#[derive(Debug)]
pub enum Change<K> {
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

impl<K> Clone for Change<K> {
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

impl<K> Change<K> {
    /// The current version of the object, or the last known one of a deleted object.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added(new) | Self::Updated { new, .. } => new,
            Self::Deleted(old) => old,
        }
    }
}

/// Returns the index values of an object, client-go's `cache.IndexFunc`.
pub(super) type IndexFunc<K> = Box<dyn Fn(&K) -> Vec<String> + Send + Sync>;

/// One index.
struct Index<K> {
    name: &'static str,
    of: IndexFunc<K>,
    entries: HashMap<String, BTreeSet<ObjectKey>>,
}

/// Objects by key, and keys by index value.
pub(super) struct IndexedStore<K> {
    objects: BTreeMap<ObjectKey, Arc<K>>,
    indexes: Vec<Index<K>>,
}

impl<K> IndexedStore<K> {
    pub(super) fn new(indexes: Vec<(&'static str, IndexFunc<K>)>) -> Self {
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

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Arc<K>> {
        self.objects.get(key)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<K>)> {
        self.objects.iter()
    }

    /// Objects of one namespace, in the order of their names.
    pub(super) fn list_namespace<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Arc<K>> {
        self.objects
            .range(ObjectKey::new(namespace, "")..)
            .take_while(move |(key, _)| key.namespace == namespace)
            .map(|(_, object)| object)
    }

    /// The objects with the given index value, by namespace and name. An unknown index is a bug of
    /// the caller; the result is then empty.
    pub(super) fn by_index(&self, index: &str, value: &str) -> Vec<Arc<K>> {
        let found = self.indexes.iter().find(|i| i.name == index);
        debug_assert!(found.is_some(), "no index {index}");
        found
            .and_then(|i| i.entries.get(value))
            .into_iter()
            .flatten()
            .filter_map(|key| self.objects.get(key).cloned())
            .collect()
    }

    pub(super) fn put(&mut self, key: ObjectKey, new: Arc<K>) -> Change<K> {
        let old = self.objects.insert(key.clone(), new.clone());
        for index in &mut self.indexes {
            let before = old.as_deref().map(&index.of).unwrap_or_default();
            let after = (index.of)(&new);
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

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Change<K>> {
        let old = self.objects.remove(key)?;
        for index in &mut self.indexes {
            for value in (index.of)(&old) {
                index.remove(&value, key);
            }
        }
        Some(Change::Deleted(old))
    }
}

impl<K> Index<K> {
    fn remove(&mut self, value: &str, key: &ObjectKey) {
        if let Some(keys) = self.entries.get_mut(value) {
            keys.remove(key);
            if keys.is_empty() {
                self.entries.remove(value);
            }
        }
    }
}
