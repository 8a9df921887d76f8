//! The objects an informer knows, and its secondary indexes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::ObjectKey;

/// What happened to an object, as an informer's subscribers are told.
#[derive(Debug)]
pub enum Change<K> {
    /// It was not known before.
    Added(Arc<K>),
    /// It is known in another version.
    Updated {
        /// The version known before.
        old: Arc<K>,
        /// The version known now.
        new: Arc<K>,
    },
    /// It is gone; this is the last version that was seen.
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
    /// The newest version of the object: of a deleted one, the last.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added(new) | Self::Updated { new, .. } => new,
            Self::Deleted(old) => old,
        }
    }
}

/// Tells under which values of an index an object is found.
pub(super) type IndexFunc<K> = Box<dyn Fn(&K) -> Vec<String> + Send + Sync>;

/// One secondary index.
struct Index<K> {
    name: &'static str,
    of: IndexFunc<K>,
    entries: HashMap<String, BTreeSet<ObjectKey>>,
}

/// Objects by key, and keys by index values.
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

    /// Objects found under `value` of an index. An index nobody asked for is a mistake of the
    /// caller and finds nothing.
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
