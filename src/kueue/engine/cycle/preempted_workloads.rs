//! The preemption targets of a cycle so far, and whether usage fits once they are preempted.

use std::collections::BTreeMap;

use crate::cache::{HierarchyNodeId, WorkloadIndex};
use crate::hash_map::FastHashSet;
use crate::preemption::Target;
use crate::snapshot_transaction::{FitsCheck, SnapshotTransaction};
use crate::workload::Usage;

/// The preemption targets of a cycle so far.
#[derive(Clone, Debug, Default)]
pub(super) struct PreemptedWorkloads {
    all: FastHashSet<WorkloadIndex>,
    by_root: BTreeMap<HierarchyNodeId, Vec<WorkloadIndex>>,
}

impl PreemptedWorkloads {
    /// Whether any of these targets is preempted already.
    pub(crate) fn has_any(&self, targets: &[Target]) -> bool {
        targets.iter().any(|t| self.all.contains(&t.idx))
    }

    /// Adds targets.
    pub(crate) fn insert(&mut self, targets: &[Target], snapshot: &SnapshotTransaction<'_>) {
        for target in targets {
            if self.all.insert(target.idx)
                && let Some(workload) = snapshot.workload(target.idx)
            {
                let root = snapshot.cache.hierarchy.root(workload.queue);
                self.by_root.entry(root).or_default().push(target.idx);
            }
        }
    }

    /// All targets, by cohort tree and in the order they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = WorkloadIndex> + '_ {
        self.by_root.values().flatten().copied()
    }

    /// The targets whose preemption may release quota or topology domains for this usage: those of
    /// the same cohort tree, and those that use topology domains if the usage has any.
    fn relevant(
        &self,
        node: HierarchyNodeId,
        usage: &Usage,
        snapshot: &SnapshotTransaction<'_>,
    ) -> Vec<WorkloadIndex> {
        let root = snapshot.cache.hierarchy.root(node);
        if usage.tas.is_empty() {
            return self.by_root.get(&root).cloned().unwrap_or_default();
        }
        let placed = |idx: WorkloadIndex| {
            snapshot
                .workload(idx)
                .is_some_and(|w| w.tas_usage.is_some())
        };
        self.by_root
            .iter()
            .flat_map(|(&r, victims)| victims.iter().map(move |&idx| (r, idx)))
            .filter(|&(r, idx)| r == root || placed(idx))
            .map(|(_, idx)| idx)
            .collect()
    }

    /// Whether usage fits once all targets, and these ones, are preempted.
    pub(crate) fn fits(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        node: HierarchyNodeId,
        usage: &Usage,
        targets: &[Target],
    ) -> FitsCheck {
        let mut removed: Vec<WorkloadIndex> = Vec::new();
        let mut check = FitsCheck::NoQuota;
        // Less usage never makes the fit worse, so usually only few targets have to be removed.
        for step in 0..3 {
            let more: Vec<WorkloadIndex> = match step {
                0 => Vec::new(),
                1 => targets.iter().map(|t| t.idx).collect(),
                _ => self.relevant(node, usage, snapshot),
            };
            let more: Vec<WorkloadIndex> = more
                .into_iter()
                .filter(|idx| !removed.contains(idx))
                .collect();
            if step > 0 && more.is_empty() {
                continue;
            }
            more.iter()
                .for_each(|&idx| snapshot.remove_workload_usage(idx));
            removed.extend(more);
            check = snapshot.fits(node, usage);
            if check == FitsCheck::Ok {
                break;
            }
        }
        removed
            .iter()
            .for_each(|&idx| snapshot.add_workload_usage(idx));
        check
    }
}
