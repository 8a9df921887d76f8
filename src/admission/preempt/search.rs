//! [`Search`]: whom a workload would have to preempt, and the means both ways of searching share.

use super::classical;
use super::fair;
use super::target::{Considered, Fate, Target, Victims};
use crate::assign::Assignment;
use crate::cache::NodeId;
use crate::resources::{FrAmounts, FrId};
use crate::snapshot::{Snapshot, Usage};
use crate::tas::{FindOptions, WorkloadTasRequests};
use crate::workload::Info;

/// A search for victims.
pub struct Search<'a> {
    /// The workload that needs room.
    pub preemptor: &'a Info,
    /// Its ClusterQueue.
    pub node: NodeId,
    /// The pairs it lacks.
    pub frs: Vec<FrId>,
    /// What it needs in all.
    pub usage: FrAmounts,
    /// The places it needs.
    pub tas_requests: WorkloadTasRequests<'a>,
}

impl<'a> Search<'a> {
    /// The search for a workload with flavors.
    pub fn for_assignment(
        wl: &'a Info,
        node: NodeId,
        assignment: &mut Assignment,
        replaced: Option<&'a Info>,
        snapshot: &mut Snapshot<'_>,
    ) -> Self {
        let tas_requests = if snapshot.config.gates.topology_aware_scheduling {
            assignment.topology_requests(wl, replaced, snapshot, node)
        } else {
            WorkloadTasRequests::new()
        };
        let frs = &mut snapshot.cache.forest.frs;
        Search {
            preemptor: wl,
            node,
            frs: assignment.pairs_needing_preemption(frs),
            usage: assignment.total_requests_for(wl, frs),
            tas_requests,
        }
    }

    /// Finds victims. The snapshot is as before afterwards.
    pub fn run(&self, snapshot: &mut Snapshot<'_>) -> Victims {
        if snapshot.config.fair_sharing_enabled() {
            fair::search(self, snapshot)
        } else {
            classical::search(self, snapshot)
        }
    }

    /// Whether the workload has room as things stand, with or without borrowing.
    pub(super) fn fits(&self, snapshot: &mut Snapshot<'_>, allow_borrowing: bool) -> bool {
        for (fr, amount) in self.usage.iter() {
            let forest = &snapshot.cache.forest;
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
    pub(super) fn fill_back(
        &self,
        snapshot: &mut Snapshot<'_>,
        targets: &mut Vec<Target>,
        considered: &mut [Considered],
        allow_borrowing: bool,
    ) {
        for i in (0..targets.len().saturating_sub(1)).rev() {
            let idx = targets[i].idx;
            snapshot.add_workload(idx);
            if self.fits(snapshot, allow_borrowing) {
                targets.swap_remove(i);
                mark(considered, idx, Fate::Spared);
            } else {
                snapshot.remove_workload(idx);
            }
        }
    }
}

pub(super) fn mark(considered: &mut [Considered], idx: crate::cache::WlIdx, fate: Fate) {
    if let Some(c) = considered.iter_mut().find(|c| c.idx == idx) {
        c.fate = fate;
    }
}

/// Puts all victims back.
pub(super) fn restore(snapshot: &mut Snapshot<'_>, targets: &[Target]) {
    for target in targets {
        snapshot.add_workload(target.idx);
    }
}
