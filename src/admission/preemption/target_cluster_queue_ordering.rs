//! Which ClusterQueue fair sharing takes from next: from the root down, the node with the highest
//! share.

use std::collections::{BTreeMap, VecDeque};

use super::candidates_ordering::{Candidate, candidates_ordering};
use crate::cache::{Drs, HierarchyNodeId, WorkloadIndex};
use crate::hash_map::FastHashSet;
use crate::snapshot_transaction::SnapshotTransaction;

/// The order in which ClusterQueues give up candidates. A ClusterQueue may come several times in a
/// row; each time a candidate has to be popped, or the ClusterQueue dropped.
pub(super) struct TargetClusterQueueOrdering {
    preemptor: HierarchyNodeId,
    ancestors: Vec<HierarchyNodeId>,
    candidates: BTreeMap<HierarchyNodeId, VecDeque<Candidate>>,
    /// Nodes that will yield no more candidates.
    pruned: FastHashSet<HierarchyNodeId>,
}

impl TargetClusterQueueOrdering {
    /// The order among the ClusterQueues of these candidates, which are in order themselves.
    pub fn new(
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

    /// The ClusterQueue to take from next.
    pub fn next(&mut self, snapshot: &mut SnapshotTransaction<'_>) -> Option<HierarchyNodeId> {
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

    /// Takes the first candidate of a ClusterQueue.
    pub fn pop(&mut self, queue: HierarchyNodeId) -> Option<Candidate> {
        self.candidates.get_mut(&queue)?.pop_front()
    }

    /// Takes no more from a ClusterQueue.
    pub fn drop_queue(&mut self, queue: HierarchyNodeId) {
        self.pruned.insert(queue);
    }

    fn front(&self, queue: HierarchyNodeId) -> Option<&Candidate> {
        self.candidates.get(&queue)?.front()
    }

    /// Goes down from a cohort to the node with the highest share; none when that only found out
    /// that nothing is left somewhere.
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
                // Within the cohort there may be a node with an even higher share.
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
            // Above the preemptor there may be imbalance, or candidates of its own.
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

    /// The nodes right below the lowest cohort that holds both the preemptor and a ClusterQueue.
    fn almost_lcas(
        &self,
        queue: HierarchyNodeId,
        snapshot: &SnapshotTransaction<'_>,
    ) -> (HierarchyNodeId, HierarchyNodeId) {
        let forest = &snapshot.cache.hierarchy;
        let mut below = queue;
        for cohort in forest.ancestors(queue) {
            if let Some(i) = self.ancestors.iter().position(|&a| a == cohort) {
                let mine = if i == 0 {
                    self.preemptor
                } else {
                    self.ancestors[i - 1]
                };
                return (mine, below);
            }
            below = cohort;
        }
        (self.preemptor, queue)
    }

    /// The shares of the preemptor's side, with the workload, and of a ClusterQueue's side.
    pub fn compute_shares(
        &self,
        queue: HierarchyNodeId,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> (Drs, Drs) {
        let (mine, theirs) = self.almost_lcas(queue, snapshot);
        let forest = &mut snapshot.cache.hierarchy;
        (Drs::of(forest, mine, None), Drs::of(forest, theirs, None))
    }

    /// The share of a ClusterQueue's side once a workload of it is gone.
    pub fn compute_target_share_after_removal(
        &self,
        queue: HierarchyNodeId,
        idx: WorkloadIndex,
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Drs {
        let (_, theirs) = self.almost_lcas(queue, snapshot);
        snapshot.remove_workload_usage(idx);
        let share = Drs::of(&mut snapshot.cache.hierarchy, theirs, None);
        snapshot.add_workload_usage(idx);
        share
    }
}
