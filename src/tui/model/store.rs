//! The rows of one kind, as the latest word of its watch has them.

use std::collections::BTreeMap;

use super::Key;

/// What stands for an object in the model: the parts the UI shows, cleaned.
pub trait Row {
    /// Namespace and name.
    fn key(&self) -> &Key;
}

/// What a watch tells about one kind.
#[derive(Clone, Debug)]
pub enum Change<R> {
    /// These are all there are; what is not among them is gone.
    Reset(Vec<R>),
    /// This one is new or different.
    Put(Box<R>),
    /// This one is gone.
    Gone(Key),
}

/// The rows of one kind in the order of their keys.
#[derive(Clone, Debug)]
pub struct Store<R> {
    rows: BTreeMap<Key, R>,
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
    pub fn apply(&mut self, change: Change<R>) {
        self.revision += 1;
        match change {
            Change::Reset(rows) => {
                self.rows = rows.into_iter().map(|r| (r.key().clone(), r)).collect();
            }
            Change::Put(row) => {
                self.rows.insert(row.key().clone(), *row);
            }
            Change::Gone(key) => {
                self.rows.remove(&key);
            }
        }
    }

    /// The row with that key.
    pub fn get(&self, key: &Key) -> Option<&R> {
        self.rows.get(key)
    }

    /// The row with that name, for kinds without namespaces.
    pub fn named(&self, name: &str) -> Option<&R> {
        self.rows.get(&Key::cluster(name))
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
    struct Thing(Key, u8);

    impl Row for Thing {
        fn key(&self) -> &Key {
            &self.0
        }
    }

    #[test]
    fn a_reset_forgets_what_it_does_not_name() {
        let thing = |name: &str, v| Thing(Key::cluster(name), v);
        let mut store = Store::default();
        store.apply(Change::Put(Box::new(thing("a", 1))));
        store.apply(Change::Put(Box::new(thing("b", 1))));
        store.apply(Change::Reset(vec![thing("b", 2), thing("c", 2)]));
        let rows: Vec<_> = store.iter().cloned().collect();
        assert_eq!(rows, [thing("b", 2), thing("c", 2)]);
        store.apply(Change::Gone(Key::cluster("b")));
        assert!(store.named("b").is_none());
        assert_eq!(store.revision(), 4);
    }
}
