//! Preemption candidates and their order.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::target::PreemptionVariant;
use crate::cache::{CachedWorkload, HierarchyNodeId, WorkloadIndex};
use crate::snapshot_transaction::SnapshotTransaction;

/// A preemption candidate, with the data that orders it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The workload.
    pub idx: WorkloadIndex,
    /// The node of its ClusterQueue.
    pub queue: HierarchyNodeId,
    /// Its preemption variant.
    pub variant: PreemptionVariant,
    /// The lowest common cohort with the preemptor, if its ClusterQueue is another one.
    pub lowest_common_cohort: Option<HierarchyNodeId>,
    /// Whether it is evicted already.
    pub evicted: bool,
    own: bool,
    local_queue_usage: Option<f64>,
    priority: i64,
    reserved_at: Timestamp,
}

impl Candidate {
    /// A candidate of a preemptor in ClusterQueue `preemptor`.
    pub fn new(
        idx: WorkloadIndex,
        variant: PreemptionVariant,
        common: Option<HierarchyNodeId>,
        preemptor: HierarchyNodeId,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Option<Self> {
        let usage = snapshot.local_queue_usage(idx);
        let now = snapshot.now;
        let workload = snapshot.workload(idx)?;
        Some(Candidate {
            idx,
            queue: workload.queue,
            variant,
            lowest_common_cohort: common,
            evicted: workload.evicted,
            own: workload.queue == preemptor,
            local_queue_usage: usage,
            priority: workload.info.priority,
            reserved_at: workload.reserved_at.unwrap_or(now),
        })
    }

    /// The order without tie-breaks: evicted workloads, workloads of other ClusterQueues, higher
    /// LocalQueue usage, lower priority, later quota reservation.
    fn compare(&self, other: &Candidate) -> Ordering {
        let by_usage = || match (self.local_queue_usage, other.local_queue_usage) {
            (Some(a), Some(b)) if self.queue == other.queue => b.total_cmp(&a),
            _ => Ordering::Equal,
        };
        other
            .evicted
            .cmp(&self.evicted)
            .then_with(|| self.own.cmp(&other.own))
            .then_with(by_usage)
            .then_with(|| self.priority.cmp(&other.priority))
            .then_with(|| other.reserved_at.cmp(&self.reserved_at))
    }
}

fn identity(workload: Option<&CachedWorkload>) -> (&str, &str) {
    workload.map_or(("", ""), |w| (w.info.uid(), w.info.key.as_str()))
}

/// The order of two candidates; ties are broken by UID, then name.
pub(crate) fn candidates_ordering(
    a: &Candidate,
    b: &Candidate,
    snapshot: &SnapshotTransaction<'_>,
) -> Ordering {
    a.compare(b)
        .then_with(|| identity(snapshot.workload(a.idx)).cmp(&identity(snapshot.workload(b.idx))))
}

/// Sorts candidates.
pub fn sort_candidates(candidates: &mut [Candidate], snapshot: &SnapshotTransaction<'_>) {
    candidates.sort_by(|a, b| candidates_ordering(a, b, snapshot));
}
