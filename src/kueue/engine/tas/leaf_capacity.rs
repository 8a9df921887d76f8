//! [`LeafCapacity`]: the free capacity of each leaf by resource, updated in place.
//!
//! Must not depend on the topology.

use crate::resources::{Requests, ResourceName};

use super::topology_tree::Leaf;

/// Free capacity of leaves, one column per resource.
///
/// Two values are kept: *free* capacity without TAS usage, and the *remaining* capacity after TAS
/// usage. Simulated changes affect the second only and are journaled.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafCapacity {
    leaves: usize,
    columns: Vec<Column>,
    undo: Vec<Undo>,
    /// A sum was clamped to 64 bits, so a rollback would not restore it.
    inexact: bool,
}

#[derive(Clone, Debug)]
struct Column {
    resource: ResourceName,
    free: Vec<i64>,
    remaining: Vec<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Undo {
    column: usize,
    leaf: Leaf,
    change: i64,
}

/// The value that a change affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CapacityScope {
    Both,
    Remaining,
    /// The remaining capacity, journaled.
    Simulated,
}

/// Usage of identical pods. Each consumes one of the leaf's `pods` as well.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodUsage<'a> {
    /// The requests of all pods.
    pub(super) requests: &'a Requests,
    /// The number of pods.
    pub(super) pods: i64,
}

impl LeafCapacity {
    /// Zero capacity for some leaves.
    pub(super) fn new(leaves: usize) -> Self {
        LeafCapacity {
            leaves,
            ..Default::default()
        }
    }

    /// Whether any value was clamped.
    pub(super) fn is_inexact(&self) -> bool {
        self.inexact
    }

    /// Adds the allocatable resources of a node (removes them with `sign` -1).
    pub(super) fn add_node_capacity(&mut self, leaf: Leaf, allocatable: &Requests, sign: i64) {
        for (resource, amount) in allocatable.iter() {
            self.change(
                leaf,
                resource,
                amount.saturating_mul(sign),
                CapacityScope::Both,
            );
        }
    }

    /// Subtracts non-TAS usage (adds it back with `sign` -1).
    pub(super) fn add_non_tas_usage(&mut self, leaf: Leaf, usage: PodUsage<'_>, sign: i64) {
        self.charge(leaf, usage, sign, CapacityScope::Both);
    }

    /// Subtracts TAS usage (adds it back with `sign` -1).
    pub(super) fn add_tas_usage(&mut self, leaf: Leaf, usage: PodUsage<'_>, sign: i64) {
        self.charge(leaf, usage, sign, CapacityScope::Remaining);
    }

    /// Like [`LeafCapacity::add_tas_usage`], journaled.
    pub(super) fn simulate(&mut self, leaf: Leaf, usage: PodUsage<'_>, sign: i64) {
        self.charge(leaf, usage, sign, CapacityScope::Simulated);
    }

    fn charge(&mut self, leaf: Leaf, usage: PodUsage<'_>, sign: i64, of: CapacityScope) {
        for (resource, amount) in usage.requests.iter() {
            self.change(leaf, resource, amount.saturating_mul(-sign), of);
        }
        let pods = usage.pods.saturating_mul(-sign);
        self.change(leaf, ResourceName::pods(), pods, of);
    }

    fn change(&mut self, leaf: Leaf, resource: ResourceName, change: i64, of: CapacityScope) {
        if change == 0 || leaf >= self.leaves {
            return;
        }
        let index = match self.columns.iter().position(|c| c.resource == resource) {
            Some(index) => index,
            None => {
                self.columns.push(Column {
                    resource,
                    free: vec![0; self.leaves],
                    remaining: vec![0; self.leaves],
                });
                self.columns.len() - 1
            }
        };
        let column = &mut self.columns[index];
        let mut exact = add(&mut column.remaining[leaf], change);
        match of {
            CapacityScope::Both => exact &= add(&mut column.free[leaf], change),
            CapacityScope::Remaining => {}
            CapacityScope::Simulated => self.undo.push(Undo {
                column: index,
                leaf,
                change,
            }),
        }
        self.inexact |= !exact;
    }

    /// The position in the journal, for [`LeafCapacity::undo_to`].
    pub(super) fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Rolls back all simulated changes since `mark`.
    pub(super) fn undo_to(&mut self, mark: usize) {
        for undo in self.undo.drain(mark.min(self.undo.len())..).rev() {
            let amount = &mut self.columns[undo.column].remaining[undo.leaf];
            self.inexact |= !add(amount, undo.change.saturating_neg());
        }
    }

    /// The remaining capacity of a resource on each leaf; with `empty`, without TAS usage. None for
    /// a resource that no leaf has.
    pub(super) fn column(&self, resource: ResourceName, empty: bool) -> Option<&[i64]> {
        let column = self.columns.iter().find(|c| c.resource == resource)?;
        Some(if empty {
            &column.free
        } else {
            &column.remaining
        })
    }

    /// The remaining capacity of a leaf; with `empty`, without TAS usage.
    pub(super) fn on(&self, leaf: Leaf, empty: bool) -> Requests {
        self.columns
            .iter()
            .map(|c| {
                let amounts = if empty { &c.free } else { &c.remaining };
                (c.resource, amounts.get(leaf).copied().unwrap_or(0))
            })
            .collect()
    }

    /// The TAS usage of a leaf, without zero values.
    pub(super) fn placed_on(&self, leaf: Leaf) -> Requests {
        self.columns
            .iter()
            .filter(|c| leaf < self.leaves && c.free[leaf] != c.remaining[leaf])
            .map(|c| (c.resource, c.free[leaf].saturating_sub(c.remaining[leaf])))
            .collect()
    }
}

/// Adds in place; false when the sum was clamped.
fn add(amount: &mut i64, change: i64) -> bool {
    let sum = amount.checked_add(change);
    *amount = sum.unwrap_or_else(|| amount.saturating_add(change));
    sum.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requests(pairs: &[(&str, i64)]) -> Requests {
        pairs.iter().map(|&(n, v)| (n.into(), v)).collect()
    }

    #[test]
    fn tas_usage_reduces_remaining_capacity_only() {
        let mut c = LeafCapacity::new(2);
        c.add_node_capacity(1, &requests(&[("cpu", 4000), ("pods", 10)]), 1);
        let pod = requests(&[("cpu", 1000)]);
        let usage = PodUsage {
            requests: &pod,
            pods: 1,
        };
        c.add_non_tas_usage(1, usage, 1);
        c.add_tas_usage(1, usage, 1);
        assert_eq!(c.on(1, true), requests(&[("cpu", 3000), ("pods", 9)]));
        assert_eq!(c.on(1, false), requests(&[("cpu", 2000), ("pods", 8)]));
        assert_eq!(c.placed_on(1), requests(&[("cpu", 1000), ("pods", 1)]));
        assert_eq!(c.placed_on(0), requests(&[]));
        assert_eq!(c.column("memory".into(), false), None);
    }

    #[test]
    fn clamping_is_reported() {
        let mut c = LeafCapacity::new(1);
        let huge = requests(&[("memory", i64::MAX)]);
        let usage = PodUsage {
            requests: &huge,
            pods: 1,
        };
        c.simulate(0, usage, 1);
        assert!(!c.is_inexact());
        c.simulate(0, usage, 1);
        assert!(c.is_inexact());
        c.undo_to(0);
    }

    proptest! {
        #[test]
        fn undo_restores_capacity(ops in proptest::collection::vec((0usize..3, -50i64..50, 0i64..4, any::<bool>()), 0..20)) {
            let mut c = LeafCapacity::new(3);
            for leaf in 0..3 {
                c.add_node_capacity(leaf, &requests(&[("cpu", 100), ("pods", 10)]), 1);
            }
            let before: Vec<_> = (0..3).map(|l| c.on(l, false)).collect();
            let mark = c.mark();
            for (leaf, cpu, pods, add) in ops {
                let r = requests(&[("cpu", cpu)]);
                c.simulate(leaf, PodUsage { requests: &r, pods }, if add { 1 } else { -1 });
            }
            c.undo_to(mark);
            let after: Vec<_> = (0..3).map(|l| c.on(l, false)).collect();
            prop_assert_eq!(before, after);
        }
    }
}
