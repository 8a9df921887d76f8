//! [`NoFitClasses`]: inadmissible equivalence classes with the numbers that decide whether a retry
//! can succeed.
//!
//! When inadmissible workloads are requeued, these classes are only marked. A class that cannot fit
//! is not evaluated again: its mark is removed. Must not depend on what the numbers mean.

use std::sync::Arc;

use super::equivalence_class::EquivalenceClass;
use super::equivalence_class_tree::{ClassPosition, EquivalenceClassTree};
use crate::hash_map::FastHashMap;
use crate::heap::Item;
use crate::workload::EquivalenceHash;

/// Inadmissible classes with known numbers, and the numbers of all classes that were evaluated.
#[derive(Clone, Debug)]
pub(super) struct NoFitClasses {
    tree: EquivalenceClassTree,
    classes: FastHashMap<EquivalenceHash, EquivalenceClass>,
    /// The numbers of each scheduling hash that did not fit.
    numbers: FastHashMap<EquivalenceHash, Arc<[i64]>>,
    /// The namespaces of workloads that were evaluated, which the ClusterQueue selects.
    namespaces: Vec<String>,
}

impl NoFitClasses {
    /// No classes. Each has `width` numbers.
    pub(super) fn new(width: usize) -> Self {
        NoFitClasses {
            tree: EquivalenceClassTree::new(width),
            classes: FastHashMap::default(),
            numbers: FastHashMap::default(),
            namespaces: Vec::new(),
        }
    }

    /// Records the numbers of a scheduling hash, of which a workload in a namespace was evaluated.
    pub(super) fn record(&mut self, hash: EquivalenceHash, namespace: &str, numbers: Arc<[i64]>) {
        if !self.namespaces.iter().any(|known| known == namespace) {
            self.namespaces.push(namespace.to_owned());
        }
        self.numbers.insert(hash, numbers);
    }

    /// The numbers of a scheduling hash.
    pub(super) fn numbers(&self, hash: EquivalenceHash) -> Option<&Arc<[i64]>> {
        self.numbers.get(&hash)
    }

    /// Whether a retry of a class evaluates its first workload and, if that does not fit, ends for
    /// all of them.
    pub(super) fn accepts(&self, class: &EquivalenceClass) -> bool {
        self.numbers.contains_key(class.key())
            && class.is_evaluated_as_one(|namespace| self.namespaces.iter().any(|n| n == namespace))
    }

    /// Adds a class that it accepts; returns another one.
    pub(super) fn insert(
        &mut self,
        class: EquivalenceClass,
        requeued: bool,
    ) -> Option<EquivalenceClass> {
        let hash = *class.key();
        let Some((numbers, first)) = self.numbers.get(&hash).zip(class.first()) else {
            return Some(class);
        };
        let position = ClassPosition(first.info.clone());
        self.tree.insert(hash, position, numbers, requeued);
        self.classes.insert(hash, class);
        None
    }

    /// Removes a class; returns whether it is requeued as well.
    pub(super) fn remove(&mut self, hash: EquivalenceHash) -> Option<(EquivalenceClass, bool)> {
        let class = self.classes.remove(&hash)?;
        let requeued = self.tree.remove(hash).unwrap_or_default();
        Some((class, requeued))
    }

    /// A class.
    pub(super) fn get(&self, hash: EquivalenceHash) -> Option<&EquivalenceClass> {
        self.classes.get(&hash)
    }

    /// All classes, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &EquivalenceClass> {
        self.classes.values()
    }

    /// The classes by queue order.
    pub(super) fn tree(&mut self) -> &mut EquivalenceClassTree {
        &mut self.tree
    }
}
