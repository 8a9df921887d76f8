//! [`Search`]: whom a workload would have to preempt, and the means both ways of searching share.

use super::classical_preemption;
use super::fair_sharing_preemption;
use super::target::{CandidateOutcome, EvaluatedCandidate, Target, Victims};
use crate::cache::HierarchyNodeId;
use crate::flavor_assigner::Assignment;
use crate::resources::{FlavorResourceId, FlavorResourceQuantities};
use crate::snapshot_transaction::SnapshotTransaction;
use crate::tas::{FindOptions, WorkloadTasRequests};
use crate::workload::{Info, Usage};

/// A search for victims.
pub struct PreemptionSearch<'a> {
    /// The workload that needs room.
    pub preemptor: &'a Info,
    /// Its ClusterQueue.
    pub node: HierarchyNodeId,
    /// The pairs it lacks.
    pub frs: Vec<FlavorResourceId>,
    /// What it needs in all.
    pub usage: FlavorResourceQuantities,
    /// The places it needs.
    pub tas_requests: WorkloadTasRequests<'a>,
}

impl<'a> PreemptionSearch<'a> {
    /// The search for a workload with flavors.
    pub fn for_assignment(
        wl: &'a Info,
        node: HierarchyNodeId,
        assignment: &mut Assignment,
        replaced: Option<&'a Info>,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Self {
        let tas_requests = if snapshot.config.gates.topology_aware_scheduling {
            assignment.workload_topology_requests(wl, replaced, snapshot, node)
        } else {
            WorkloadTasRequests::new()
        };
        let frs = &mut snapshot.cache.hierarchy.frs;
        PreemptionSearch {
            preemptor: wl,
            node,
            frs: assignment.flavor_resources_need_preemption(frs),
            usage: assignment.total_requests_for(wl, frs),
            tas_requests,
        }
    }

    /// Finds victims. The snapshot is as before afterwards.
    pub fn get_targets(&self, snapshot: &mut SnapshotTransaction<'_>) -> Victims {
        if snapshot.config.fair_sharing_enabled() {
            fair_sharing_preemption::fair_preemptions(self, snapshot)
        } else {
            classical_preemption::classical_preemptions(self, snapshot)
        }
    }

    /// Whether the workload has room as things stand, with or without borrowing.
    pub(super) fn workload_fits(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        allow_borrowing: bool,
    ) -> bool {
        for (fr, amount) in self.usage.iter() {
            let forest = &snapshot.cache.hierarchy;
            if !allow_borrowing && forest.borrowing_with(self.node, fr, amount) {
                return false;
            }
            if amount > snapshot.available(self.node, fr) {
                return false;
            }
        }
        if self.tas_requests.is_empty() {
            return true;
        }
        let options = FindOptions {
            simulate_empty: false,
            workload: Some(&self.preemptor.obj),
        };
        snapshot
            .find_topology_assignments(&self.tas_requests, options)
            .failure()
            .is_none()
    }

    /// What the workload needs and holds, as usage.
    pub(super) fn as_usage(&self) -> Usage {
        Usage {
            quota: self.usage.clone(),
            tas: self.preemptor.tas_usage(),
        }
    }

    /// Puts victims back, last to first, as long as the others suffice. The last of all takes the
    /// place of one that is put back.
    pub(super) fn fill_back_workloads(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        targets: &mut Vec<Target>,
        considered: &mut [EvaluatedCandidate],
        allow_borrowing: bool,
    ) {
        for i in (0..targets.len().saturating_sub(1)).rev() {
            let idx = targets[i].idx;
            snapshot.add_workload(idx);
            if self.workload_fits(snapshot, allow_borrowing) {
                targets.swap_remove(i);
                set_outcome(considered, idx, CandidateOutcome::Spared);
            } else {
                snapshot.remove_workload(idx);
            }
        }
    }
}

pub(super) fn set_outcome(
    considered: &mut [EvaluatedCandidate],
    idx: crate::cache::WorkloadIndex,
    fate: CandidateOutcome,
) {
    if let Some(c) = considered.iter_mut().find(|c| c.idx == idx) {
        c.outcome = fate;
    }
}

/// Puts all victims back.
pub(super) fn restore_snapshot(snapshot: &mut SnapshotTransaction<'_>, targets: &[Target]) {
    for target in targets {
        snapshot.add_workload(target.idx);
    }
}
