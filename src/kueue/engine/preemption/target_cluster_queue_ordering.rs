//! The order in which fair sharing selects ClusterQueues for preemption: from the root, the node
//! with the highest share.

use std::collections::{BTreeMap, VecDeque};

use super::candidates_ordering::{Candidate, candidates_ordering};
use crate::cache::{Drs, HierarchyNodeId, WorkloadIndex};
use crate::hash_map::FastHashSet;
use crate::snapshot_transaction::SnapshotTransaction;

/// Iterates the ClusterQueues with candidates. A ClusterQueue may be returned several times; each
/// time a candidate is popped or the ClusterQueue is dropped.
pub(super) struct TargetClusterQueueOrdering {
    preemptor: HierarchyNodeId,
    ancestors: Vec<HierarchyNodeId>,
    candidates: BTreeMap<HierarchyNodeId, VecDeque<Candidate>>,
    /// Nodes without further candidates.
    pruned: FastHashSet<HierarchyNodeId>,
}

impl TargetClusterQueueOrdering {
    /// The order of the ClusterQueues of these sorted candidates.
    pub(crate) fn new(
        preemptor: HierarchyNodeId,
        candidates: Vec<Candidate>,
        snapshot: &SnapshotTransaction<'_>,
    ) -> Self {
        let mut by_queue: BTreeMap<HierarchyNodeId, VecDeque<Candidate>> = BTreeMap::new();
        for candidate in candidates {
            by_queue
                .entry(candidate.queue)
                .or_default()
                .push_back(candidate);
        }
        TargetClusterQueueOrdering {
            preemptor,
            ancestors: snapshot.cache.hierarchy.ancestors(preemptor).collect(),
            candidates: by_queue,
            pruned: FastHashSet::default(),
        }
    }

    /// The next ClusterQueue.
    pub(crate) fn next(
        &mut self,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Option<HierarchyNodeId> {
        let Some(&root) = self.ancestors.last() else {
            let queue = self.preemptor;
            return (!self.pruned.contains(&queue) && self.front(queue).is_some()).then_some(queue);
        };
        while !self.pruned.contains(&root) {
            if let Some(queue) = self.next_target(root, snapshot) {
                return Some(queue);
            }
        }
        None
    }

    /// Pops the first candidate of a ClusterQueue.
    pub(crate) fn pop(&mut self, queue: HierarchyNodeId) -> Option<Candidate> {
        self.candidates.get_mut(&queue)?.pop_front()
    }

    /// Drops a ClusterQueue.
    pub(crate) fn drop_queue(&mut self, queue: HierarchyNodeId) {
        self.pruned.insert(queue);
    }

    fn front(&self, queue: HierarchyNodeId) -> Option<&Candidate> {
        self.candidates.get(&queue)?.front()
    }

    /// Descends from a cohort to the node with the highest share; none when it only pruned a node.
    fn next_target(
        &mut self,
        cohort: HierarchyNodeId,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Option<HierarchyNodeId> {
        let mut at = cohort;
        loop {
            let queue = self.highest_queue(at, snapshot);
            let child = self.highest_cohort(at, snapshot);
            match (queue, child) {
                (None, None) => {
                    self.pruned.insert(at);
                    return None;
                }
                (Some((queue, _)), None) => return Some(queue),
                (None, Some((child, _))) => at = child,
                // The cohort may contain a node with a higher share.
                (Some((_, q)), Some((child, c))) if c.compare(&q).is_ge() => at = child,
                (Some((queue, _)), Some(_)) => return Some(queue),
            }
        }
    }

    fn highest_queue(
        &mut self,
        cohort: HierarchyNodeId,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Option<(HierarchyNodeId, Drs)> {
        let mut highest: Option<(HierarchyNodeId, Drs)> = None;
        for queue in snapshot.cache.hierarchy.child_queues(cohort).to_vec() {
            if self.pruned.contains(&queue) || !snapshot.cache.hierarchy[queue].active {
                continue;
            }
            let front = self.front(queue).copied();
            let drs = Drs::of(&mut snapshot.cache.hierarchy, queue, None);
            let Some(front) = front.filter(|_| drs.borrowing || queue == self.preemptor) else {
                self.pruned.insert(queue);
                continue;
            };
            let wins = match &highest {
                None => true,
                Some((best, share)) => match drs.compare(share) {
                    std::cmp::Ordering::Greater => true,
                    std::cmp::Ordering::Less => false,
                    std::cmp::Ordering::Equal => self
                        .front(*best)
                        .is_none_or(|best| candidates_ordering(&front, best, snapshot).is_lt()),
                },
            };
            if wins {
                highest = Some((queue, drs));
            }
        }
        highest
    }

    fn highest_cohort(
        &mut self,
        cohort: HierarchyNodeId,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Option<(HierarchyNodeId, Drs)> {
        let mut highest: Option<(HierarchyNodeId, Drs)> = None;
        for child in snapshot.cache.hierarchy.child_cohorts(cohort).to_vec() {
            if self.pruned.contains(&child) {
                continue;
            }
            let drs = Drs::of(&mut snapshot.cache.hierarchy, child, None);
            // An ancestor of the preemptor may be imbalanced, or have candidates.
            if !drs.borrowing && !self.ancestors.contains(&child) {
                self.pruned.insert(child);
                continue;
            }
            if highest
                .as_ref()
                .is_none_or(|(_, share)| drs.compare(share).is_ge())
            {
                highest = Some((child, drs));
            }
        }
        highest
    }

    /// The children of the lowest common ancestor that contain the preemptor and a ClusterQueue
    /// (upstream's almost-LCAs).
    fn almost_lcas(
        &self,
        queue: HierarchyNodeId,
        snapshot: &SnapshotTransaction<'_>,
    ) -> (HierarchyNodeId, HierarchyNodeId) {
        let hierarchy = &snapshot.cache.hierarchy;
        let mut below = queue;
        for cohort in hierarchy.ancestors(queue) {
            if let Some(i) = self.ancestors.iter().position(|&a| a == cohort) {
                let preemptor_almost_lca = if i == 0 {
                    self.preemptor
                } else {
                    self.ancestors[i - 1]
                };
                return (preemptor_almost_lca, below);
            }
            below = cohort;
        }
        (self.preemptor, queue)
    }

    /// The shares of the preemptor's side, with its workload, and of a ClusterQueue's side.
    pub(crate) fn compute_shares(
        &self,
        queue: HierarchyNodeId,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> (Drs, Drs) {
        let (preemptor_almost_lca, target_almost_lca) = self.almost_lcas(queue, snapshot);
        let hierarchy = &mut snapshot.cache.hierarchy;
        (
            Drs::of(hierarchy, preemptor_almost_lca, None),
            Drs::of(hierarchy, target_almost_lca, None),
        )
    }

    /// The share of a ClusterQueue's side without a workload.
    pub(crate) fn compute_target_share_after_removal(
        &self,
        queue: HierarchyNodeId,
        idx: WorkloadIndex,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Drs {
        let (_, target_almost_lca) = self.almost_lcas(queue, snapshot);
        snapshot.remove_workload_usage(idx);
        let share = Drs::of(&mut snapshot.cache.hierarchy, target_almost_lca, None);
        snapshot.add_workload_usage(idx);
        share
    }
}
