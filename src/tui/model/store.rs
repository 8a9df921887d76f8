//! The rows of one kind, as the latest word of its watch has them.

use std::collections::BTreeMap;

use super::NamespacedName;

/// What stands for an object in the model: the parts the UI shows, cleaned.
pub trait Row {
    /// Namespace and name.
    fn key(&self) -> &NamespacedName;
}

/// What a watch tells about one kind.
#[derive(Clone, Debug)]
pub enum Delta<R> {
    /// These are all there are; what is not among them is gone.
    Replaced(Vec<R>),
    /// This one is new or different.
    Updated(Box<R>),
    /// This one is gone.
    Deleted(NamespacedName),
}

/// The rows of one kind in the order of their keys.
#[derive(Clone, Debug)]
pub struct Store<R> {
    rows: BTreeMap<NamespacedName, R>,
    revision: u64,
}

impl<R> Default for Store<R> {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            revision: 0,
        }
    }
}

impl<R: Row> Store<R> {
    /// Takes in what the watch tells.
    pub fn apply(&mut self, change: Delta<R>) {
        self.revision += 1;
        match change {
            Delta::Replaced(rows) => {
                self.rows = rows.into_iter().map(|r| (r.key().clone(), r)).collect();
            }
            Delta::Updated(row) => {
                self.rows.insert(row.key().clone(), *row);
            }
            Delta::Deleted(key) => {
                self.rows.remove(&key);
            }
        }
    }

    /// The row with that key.
    pub fn get(&self, key: &NamespacedName) -> Option<&R> {
        self.rows.get(key)
    }

    /// The row with that name, for kinds without namespaces.
    pub fn named(&self, name: &str) -> Option<&R> {
        self.rows.get(&NamespacedName::cluster_scoped(name))
    }

    /// All rows.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &R> + ExactSizeIterator + Clone {
        self.rows.values()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Goes up with every change; equal revisions mean equal rows.
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Thing(NamespacedName, u8);

    impl Row for Thing {
        fn key(&self) -> &NamespacedName {
            &self.0
        }
    }

    #[test]
    fn a_reset_forgets_what_it_does_not_name() {
        let thing = |name: &str, v| Thing(NamespacedName::cluster_scoped(name), v);
        let mut store = Store::default();
        store.apply(Delta::Updated(Box::new(thing("a", 1))));
        store.apply(Delta::Updated(Box::new(thing("b", 1))));
        store.apply(Delta::Replaced(vec![thing("b", 2), thing("c", 2)]));
        let rows: Vec<_> = store.iter().cloned().collect();
        assert_eq!(rows, [thing("b", 2), thing("c", 2)]);
        store.apply(Delta::Deleted(NamespacedName::cluster_scoped("b")));
        assert!(store.named("b").is_none());
        assert_eq!(store.revision(), 4);
    }
}
