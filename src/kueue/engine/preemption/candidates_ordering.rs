//! Preemption candidates and their order.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::PreemptionVariant;
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
    /// Its position among the sorted candidates, set by fair sharing preemption. A `u32` fits in
    /// the padding: sorting moves candidates.
    pub position: u32,
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
            position: 0,
            own: workload.queue == preemptor,
            local_queue_usage: usage,
            priority: workload.info.priority,
            reserved_at: workload.reserved_at.unwrap_or(now),
        })
    }

    /// The order without tie-breaks: evicted workloads, workloads of other ClusterQueues, higher
    /// usage of another LocalQueue of the same ClusterQueue, lower priority, later quota
    /// reservation.
    fn compare(&self, other: &Candidate, snapshot: &SnapshotTransaction<'_>) -> Ordering {
        let by_usage = || match (self.local_queue_usage, other.local_queue_usage) {
            (Some(a), Some(b))
                if self.queue == other.queue
                    && queue_name(self, snapshot) != queue_name(other, snapshot) =>
            {
                b.total_cmp(&a)
            }
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

/// The name of a candidate's LocalQueue, which upstream compares without its namespace.
fn queue_name<'s>(candidate: &Candidate, snapshot: &'s SnapshotTransaction<'_>) -> &'s str {
    let workload = snapshot.workload(candidate.idx);
    workload.map_or("", |w| &w.info.obj.spec.queue_name)
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
    a.compare(b, snapshot)
        .then_with(|| identity(snapshot.workload(a.idx)).cmp(&identity(snapshot.workload(b.idx))))
}

/// Sorts candidates.
pub fn sort_candidates(candidates: &mut [Candidate], snapshot: &SnapshotTransaction<'_>) {
    let order = |a: &Candidate, b: &Candidate| candidates_ordering(a, b, snapshot);
    match candidates.iter().any(|c| c.local_queue_usage.is_some()) {
        true => sort(candidates, order),
        false => candidates.sort_by(order),
    }
}

/// The longest slice that Go's sort leaves to an insertion sort.
const INSERTION_SORT_MAX: usize = 12;

/// Sorts by an order that need not be transitive, as that by the usage of LocalQueues with the same
/// name in several namespaces is not: `slice::sort_by` may panic then. Up to 12 elements are sorted
/// as Go sorts them.
fn sort<T: Copy>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering + Copy) {
    if items.len() <= INSERTION_SORT_MAX {
        for end in 1..items.len() {
            let mut at = end;
            while at > 0 && order(&items[at], &items[at - 1]).is_lt() {
                items.swap(at, at - 1);
                at -= 1;
            }
        }
        return;
    }
    let (left, right) = items.split_at_mut(items.len() / 2);
    sort(left, order);
    sort(right, order);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = match order(b, a).is_lt() {
            true => right.next(),
            false => left.next(),
        };
        merged.extend(next.copied());
    }
    merged.extend(left.chain(right).copied());
    items.copy_from_slice(&merged);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_totally_ordered_items_of_any_number() {
        for n in [0, 1, 2, 12, 13, 100] {
            let mut items: Vec<usize> = (0..n).map(|i| i * 7919 % 101).collect();
            let mut sorted = items.clone();
            sorted.sort();
            sort(&mut items, Ord::cmp);
            assert_eq!(items, sorted);
        }
    }

    #[test]
    fn sorts_items_in_a_cyclic_order() {
        // Rock, paper, scissors.
        let beats = |a: &u8, b: &u8| match (3 + a - b) % 3 {
            0 => Ordering::Equal,
            1 => Ordering::Less,
            _ => Ordering::Greater,
        };
        let mut items: Vec<u8> = (0..200).map(|i| i % 3).collect();
        sort(&mut items, beats);
        assert_eq!(items.iter().filter(|i| **i == 0).count(), 67);
    }
}
