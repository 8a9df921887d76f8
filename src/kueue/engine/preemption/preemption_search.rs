//! [`PreemptionSearch`]: the search for preemption targets, with the common parts of classical and
//! fair sharing preemption.

use super::CandidateOutcome;
use super::classical_preemption;
use super::evaluated_candidates::{EvaluatedCandidates, SearchTarget};
use super::fair_sharing_preemption;
use super::target::{FlavorResourceShortage, PreemptionShortage, Victims};
use crate::cache::HierarchyNodeId;
use crate::flavor_assigner::Assignment;
use crate::resources::{Amount, FlavorResourceId, FlavorResourceQuantities};
use crate::snapshot_transaction::SnapshotTransaction;
use crate::tas::{FindOptions, WorkloadTasRequests};
use crate::workload::{Info, Usage};

/// A search for preemption targets.
pub struct PreemptionSearch<'a> {
    /// The preemptor.
    pub preemptor: &'a Info,
    /// The node of its ClusterQueue.
    pub node: HierarchyNodeId,
    /// The flavor resources that need preemption.
    pub frs: Vec<FlavorResourceId>,
    /// Its total usage.
    pub usage: FlavorResourceQuantities,
    /// Its topology requests.
    pub tas_requests: WorkloadTasRequests<'a>,
}

impl<'a> PreemptionSearch<'a> {
    /// The search for a workload with assigned flavors.
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

    /// Finds preemption targets, without side effects on the snapshot.
    pub fn get_targets(&self, snapshot: &mut SnapshotTransaction<'_>) -> Victims {
        if snapshot.config.fair_sharing_enabled() {
            fair_sharing_preemption::fair_preemptions(self, snapshot)
        } else {
            classical_preemption::classical_preemptions(self, snapshot)
        }
    }

    /// Whether the workload fits the snapshot, with or without borrowing.
    pub(super) fn workload_fits(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        allow_borrowing: bool,
    ) -> bool {
        for (fr, amount) in self.usage.iter() {
            let hierarchy = &snapshot.cache.hierarchy;
            if !allow_borrowing && hierarchy.borrowing_with(self.node, fr, amount) {
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

    /// The requests of the workload as usage.
    pub(super) fn as_usage(&self) -> Usage {
        Usage {
            quota: self.usage.clone(),
            tas: self.preemptor.tas_usage(),
        }
    }

    /// Adds targets back, last to first, as long as the workload still fits. The last target takes
    /// the index of one that is added back.
    pub(super) fn fill_back_workloads(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        targets: &mut Vec<SearchTarget>,
        evaluated_candidates: &mut EvaluatedCandidates,
        allow_borrowing: bool,
    ) {
        for i in (0..targets.len().saturating_sub(1)).rev() {
            let SearchTarget { target, position } = targets[i];
            let idx = target.idx;
            snapshot.add_workload(idx);
            if self.workload_fits(snapshot, allow_borrowing) {
                targets.swap_remove(i);
                evaluated_candidates.set_outcome(position, CandidateOutcome::Spared);
            } else {
                snapshot.remove_workload(idx);
            }
        }
    }

    /// Adds all targets back, since preempting them does not suffice, and returns what is missing.
    pub(super) fn fill_back_all_targets(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        targets: &[SearchTarget],
        evaluated_candidates: &mut EvaluatedCandidates,
        borrowing: bool,
    ) -> Option<PreemptionShortage> {
        let mut flavor_resources: Vec<_> = self
            .usage
            .iter()
            .filter_map(|(fr, amount)| {
                let available = snapshot.available(self.node, fr);
                let missing = amount.minus(available);
                let missing = match borrowing {
                    true => missing,
                    false => missing.max(self.above_quota(snapshot, fr, amount)),
                };
                let shortage = FlavorResourceShortage {
                    fr,
                    freed: available,
                    missing,
                };
                missing.is_positive().then_some(shortage)
            })
            .collect();
        restore_snapshot(snapshot, targets);
        for shortage in &mut flavor_resources {
            let available = snapshot.available(self.node, shortage.fr);
            shortage.freed = shortage.freed.minus(available);
        }
        for target in targets {
            evaluated_candidates.set_outcome(target.position, CandidateOutcome::Insufficient);
        }
        let shortage = PreemptionShortage {
            targets: targets.len(),
            borrowing,
            flavor_resources,
        };
        (!targets.is_empty()).then_some(shortage)
    }

    /// The amount by which the ClusterQueue is above its quota with the request.
    fn above_quota(
        &self,
        snapshot: &SnapshotTransaction<'_>,
        fr: FlavorResourceId,
        amount: Amount,
    ) -> Amount {
        let node = &snapshot.cache.hierarchy[self.node].resources;
        let usage = node.usage(fr).plus(amount);
        usage.minus(node.subtree_quota(fr)).or_zero()
    }
}

/// Adds all targets back.
pub(super) fn restore_snapshot(snapshot: &mut SnapshotTransaction<'_>, targets: &[SearchTarget]) {
    for SearchTarget { target, .. } in targets {
        snapshot.add_workload(target.idx);
    }
}
