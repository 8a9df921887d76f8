//! [`Oracle`]: whether preemption could make room for one pair, for the flavor search.

use super::search::Search;
use crate::assign::{Possibility, PreemptionOracle};
use crate::cache::NodeId;
use crate::resources::{Amount, FrAmounts, FrId};
use crate::snapshot::Snapshot;
use crate::tas::WorkloadTasRequests;
use crate::workload::Info;

/// Asks the preemption rules themselves, for quota only.
pub struct Oracle;

impl PreemptionOracle for Oracle {
    fn simulate(
        &mut self,
        snapshot: &mut Snapshot<'_>,
        node: NodeId,
        wl: &Info,
        fr: FrId,
        amount: Amount,
    ) -> (Possibility, usize) {
        let search = Search {
            preemptor: wl,
            node,
            frs: vec![fr],
            usage: FrAmounts::from_iter([(fr, amount)]),
            tas_requests: WorkloadTasRequests::new(),
        };
        let victims = search.run(snapshot).targets;
        let height = |snapshot: &Snapshot<'_>| {
            snapshot
                .cache
                .forest
                .height_of_lowest_subtree_that_fits(node, fr, amount)
                .0
        };
        if victims.is_empty() {
            return (Possibility::NoCandidates, height(snapshot));
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
            (Possibility::Preempt, borrow)
        } else {
            (Possibility::Reclaim, borrow)
        }
    }
}
