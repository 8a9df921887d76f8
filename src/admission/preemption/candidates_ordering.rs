//! Candidates for preemption and the order they are taken in.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::target::PreemptionVariant;
use crate::cache::{CachedWorkload, HierarchyNodeId, WorkloadIndex};
use crate::snapshot_transaction::SnapshotTransaction;

/// A workload that may be preempted, with all its order depends on.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The workload.
    pub idx: WorkloadIndex,
    /// Its ClusterQueue.
    pub queue: HierarchyNodeId,
    /// On what ground.
    pub variant: PreemptionVariant,
    /// The lowest cohort it shares with the preemptor, if it is in another ClusterQueue.
    pub lowest_common_cohort: Option<HierarchyNodeId>,
    /// Whether it is going already.
    pub evicted: bool,
    own: bool,
    local_queue_usage: Option<f64>,
    priority: i64,
    reserved_at: Timestamp,
}

impl Candidate {
    /// A candidate for the preemptor in ClusterQueue `preemptor`.
    pub fn new(
        idx: WorkloadIndex,
        ground: PreemptionVariant,
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
            variant: ground,
            lowest_common_cohort: common,
            evicted: workload.evicted,
            own: workload.queue == preemptor,
            local_queue_usage: usage,
            priority: workload.info.priority,
            reserved_at: workload.reserved_at.unwrap_or(now),
        })
    }

    /// The order without the tie-break: workloads that are going already, those of other
    /// ClusterQueues, those of LocalQueues that used more, lower priority, younger reservations.
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

/// The order of two candidates; by UID, then name among equals.
pub fn candidates_ordering(
    a: &Candidate,
    b: &Candidate,
    snapshot: &SnapshotTransaction<'_>,
) -> Ordering {
    a.compare(b)
        .then_with(|| identity(snapshot.workload(a.idx)).cmp(&identity(snapshot.workload(b.idx))))
}

/// Sorts candidates into the order they are taken in.
pub fn sort_candidates(candidates: &mut [Candidate], snapshot: &SnapshotTransaction<'_>) {
    candidates.sort_by(|a, b| candidates_ordering(a, b, snapshot));
}
