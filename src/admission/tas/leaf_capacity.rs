//! [`LeafCapacity`]: what each leaf of a topology has free, by resource, kept up to date in place.
//!
//! Must not know the shape of the topology.

use crate::resources::{Requests, ResourceName};

use super::topology_tree::Leaf;

/// Free capacity of leaves, one column per resource.
///
/// Two figures are kept for each: what is *free* of everything but workloads placed by topology,
/// and what *remains* after those. Changes of a simulation touch only the second and are noted so
/// that they can be undone.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafCapacity {
    leaves: usize,
    columns: Vec<Column>,
    undo: Vec<Undo>,
    /// Some sum left the 64 bits and was clamped, so undoing would not restore it.
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

/// Which of the two figures a change concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CapacityScope {
    Both,
    Remaining,
    /// Like `Remaining`, and noted for undoing.
    Simulated,
}

/// Pods of a kind that are there or gone: what one requests and how many there are. Each also
/// takes one of the leaf's `non_tas_usage`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodUsage<'a> {
    /// The requests of all of them together.
    pub(super) requests: &'a Requests,
    /// How many.
    pub(super) pods: i64,
}

impl LeafCapacity {
    /// Capacity of leaves that have nothing yet.
    pub(super) fn new(leaves: usize) -> Self {
        LeafCapacity {
            leaves,
            ..Default::default()
        }
    }

    /// Whether figures had to be clamped since the capacity was made.
    pub(super) fn is_inexact(&self) -> bool {
        self.inexact
    }

    /// Adds what a node offers (or takes it away again with `sign` -1).
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

    /// Charges pods outside of topology-aware scheduling (or gives back with `sign` -1).
    pub(super) fn add_non_tas_usage(&mut self, leaf: Leaf, load: PodUsage<'_>, sign: i64) {
        self.charge(leaf, load, sign, CapacityScope::Both);
    }

    /// Charges pods placed by topology (or gives back with `sign` -1).
    pub(super) fn add_tas_usage(&mut self, leaf: Leaf, load: PodUsage<'_>, sign: i64) {
        self.charge(leaf, load, sign, CapacityScope::Remaining);
    }

    /// Like [`LeafCapacity::charge_placed`], until undone.
    pub(super) fn simulate(&mut self, leaf: Leaf, load: PodUsage<'_>, sign: i64) {
        self.charge(leaf, load, sign, CapacityScope::Simulated);
    }

    fn charge(&mut self, leaf: Leaf, load: PodUsage<'_>, sign: i64, of: CapacityScope) {
        for (resource, amount) in load.requests.iter() {
            self.change(leaf, resource, amount.saturating_mul(-sign), of);
        }
        let pods = load.pods.saturating_mul(-sign);
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

    /// Where the simulation stands, for [`LeafCapacity::undo_to`].
    pub(super) fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Takes back every simulated change made since `set_outcome` was taken.
    pub(super) fn undo_to(&mut self, mark: usize) {
        for undo in self.undo.drain(mark.min(self.undo.len())..).rev() {
            let figure = &mut self.columns[undo.column].remaining[undo.leaf];
            self.inexact |= !add(figure, undo.change.saturating_neg());
        }
    }

    /// What remains of a resource on each leaf; with `empty`, as if nothing were placed. None for
    /// a resource no leaf has ever had.
    pub(super) fn column(&self, resource: ResourceName, empty: bool) -> Option<&[i64]> {
        let column = self.columns.iter().find(|c| c.resource == resource)?;
        Some(if empty {
            &column.free
        } else {
            &column.remaining
        })
    }

    /// Everything that remains on a leaf; with `empty`, as if nothing were placed.
    pub(super) fn on(&self, leaf: Leaf, empty: bool) -> Requests {
        self.columns
            .iter()
            .map(|c| {
                let figures = if empty { &c.free } else { &c.remaining };
                (c.resource, figures.get(leaf).copied().unwrap_or(0))
            })
            .collect()
    }

    /// What placed pods take up of a leaf, without resources of which they take nothing.
    pub(super) fn placed_on(&self, leaf: Leaf) -> Requests {
        self.columns
            .iter()
            .filter(|c| leaf < self.leaves && c.free[leaf] != c.remaining[leaf])
            .map(|c| (c.resource, c.free[leaf].saturating_sub(c.remaining[leaf])))
            .collect()
    }
}

/// Adds in place; false when the sum had to be clamped.
fn add(figure: &mut i64, change: i64) -> bool {
    let sum = figure.checked_add(change);
    *figure = sum.unwrap_or_else(|| figure.saturating_add(change));
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
    fn free_and_remaining_part_at_placed_pods() {
        let mut c = LeafCapacity::new(2);
        c.add_node_capacity(1, &requests(&[("cpu", 4000), ("pods", 10)]), 1);
        let pod = requests(&[("cpu", 1000)]);
        let load = PodUsage {
            requests: &pod,
            pods: 1,
        };
        c.add_non_tas_usage(1, load, 1);
        c.add_tas_usage(1, load, 1);
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
        let load = PodUsage {
            requests: &huge,
            pods: 1,
        };
        c.simulate(0, load, 1);
        assert!(!c.is_inexact());
        c.simulate(0, load, 1);
        assert!(c.is_inexact());
        c.undo_to(0);
    }

    proptest! {
        #[test]
        fn undoing_restores(ops in proptest::collection::vec((0usize..3, -50i64..50, 0i64..4, any::<bool>()), 0..20)) {
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
