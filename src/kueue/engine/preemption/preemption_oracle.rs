//! [`Oracle`]: simulates preemption of one flavor resource for the flavor assigner.

use super::preemption_search::PreemptionSearch;
use crate::cache::HierarchyNodeId;
use crate::flavor_assigner::{PreemptionOracle, PreemptionPossibility};
use crate::resources::{Amount, FlavorResourceId, FlavorResourceQuantities};
use crate::snapshot_transaction::SnapshotTransaction;
use crate::tas::WorkloadTasRequests;
use crate::workload::Info;

/// Simulates with the preemption search, for quota only.
pub struct Oracle;

impl PreemptionOracle for Oracle {
    fn simulate_preemption(
        &mut self,
        snapshot: &mut SnapshotTransaction<'_>,
        node: HierarchyNodeId,
        wl: &Info,
        fr: FlavorResourceId,
        amount: Amount,
    ) -> (PreemptionPossibility, usize) {
        let search = PreemptionSearch {
            preemptor: wl,
            node,
            frs: vec![fr],
            usage: FlavorResourceQuantities::from_iter([(fr, amount)]),
            tas_requests: WorkloadTasRequests::new(),
        };
        let victims = search.get_targets(snapshot).targets;
        let height = |snapshot: &SnapshotTransaction<'_>| {
            snapshot
                .cache
                .hierarchy
                .height_of_lowest_subtree_that_fits(node, fr, amount)
                .0
        };
        if victims.is_empty() {
            return (PreemptionPossibility::NoCandidates, height(snapshot));
        }
        for target in &victims {
            snapshot.remove_workload_usage(target.idx);
        }
        let borrow = height(snapshot);
        for target in &victims {
            snapshot.add_workload_usage(target.idx);
        }
        let own = |idx| snapshot.workload(idx).is_some_and(|w| w.queue == node);
        if victims.iter().any(|t| own(t.idx)) {
            (PreemptionPossibility::Preempt, borrow)
        } else {
            (PreemptionPossibility::Reclaim, borrow)
        }
    }
}
