//! The rows of one kind.

use std::collections::BTreeMap;

use super::ObjectKey;

/// An object in the model: the fields that the UI shows, sanitized.
pub(crate) trait Row {
    /// Namespace and name.
    fn key(&self) -> &ObjectKey;
}

/// A change of the objects of one kind.
#[derive(Clone, Debug)]
pub enum Delta<R> {
    /// All objects; others are gone.
    Replaced(Vec<R>),
    /// An object was added or modified.
    Updated(Box<R>),
    /// An object was deleted.
    Deleted(ObjectKey),
}

/// The rows of one kind, sorted by namespace and name.
#[derive(Clone, Debug)]
pub(crate) struct Store<R> {
    rows: BTreeMap<ObjectKey, R>,
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
    /// Applies a change.
    pub(crate) fn apply(&mut self, change: Delta<R>) {
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

    /// The row of an object.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&R> {
        self.rows.get(key)
    }

    /// The row of a cluster-scoped object.
    pub(crate) fn named(&self, name: &str) -> Option<&R> {
        self.rows.get(&ObjectKey::cluster(name))
    }

    /// All rows.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &R> + ExactSizeIterator + Clone {
        self.rows.values()
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Increases with every change; equal revisions mean equal rows.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct TestRow(ObjectKey, u8);

    impl Row for TestRow {
        fn key(&self) -> &ObjectKey {
            &self.0
        }
    }

    #[test]
    fn a_replacement_removes_other_rows() {
        let row = |name: &str, v| TestRow(ObjectKey::cluster(name), v);
        let mut store = Store::default();
        store.apply(Delta::Updated(Box::new(row("a", 1))));
        store.apply(Delta::Updated(Box::new(row("b", 1))));
        store.apply(Delta::Replaced(vec![row("b", 2), row("c", 2)]));
        let rows: Vec<_> = store.iter().cloned().collect();
        assert_eq!(rows, [row("b", 2), row("c", 2)]);
        store.apply(Delta::Deleted(ObjectKey::cluster("b")));
        assert!(store.named("b").is_none());
        assert_eq!(store.revision(), 4);
    }
}
