//! [`FairSharingIterator`]: the order of entries with fair sharing.
//!
//! Every cohort runs a tournament among the entries of its children, by the share of the child
//! including the workload; the winner of the root is the next entry. Usage changes only on the path
//! of the last entry, so only the tournaments on that path run again.

use std::collections::BTreeMap;

use super::entry::Entry;
use super::entry_comparer::{FairSharingEntry, entry_less};
use crate::cache::{Drs, HierarchyNodeId};
use crate::feature_gates::Gates;
use crate::hash_map::FastHashMap;
use crate::snapshot_transaction::SnapshotTransaction;
use crate::workload::Usage;

/// The entry of a ClusterQueue with the share of the ClusterQueue.
struct ClusterQueueEntry {
    entry: usize,
    usage: Usage,
    share: Drs,
}

/// The tournament of a cohort.
#[derive(Default)]
struct CohortTournament {
    /// The nodes of its ClusterQueues with entries, the best one last.
    queues: Vec<HierarchyNodeId>,
    /// The winning ClusterQueue, and the share of this cohort with its workload.
    winner: Option<(HierarchyNodeId, Drs)>,
}

/// Iterates the entries of a cycle in fair sharing order.
pub(crate) struct FairSharingIterator {
    /// The ClusterQueues with an entry, in the order of the heads, which orders the trees.
    order: Vec<HierarchyNodeId>,
    next: usize,
    cluster_queue_entries: BTreeMap<HierarchyNodeId, ClusterQueueEntry>,
    cohorts: FastHashMap<HierarchyNodeId, CohortTournament>,
    /// The ClusterQueue whose path has outdated tournaments.
    dirty: Option<HierarchyNodeId>,
}

impl FairSharingIterator {
    /// An iterator over the unprocessed entries. With two entries in one ClusterQueue only the
    /// later one takes part.
    pub(crate) fn new(entries: &[Entry], snapshot: &mut SnapshotTransaction<'_>) -> Self {
        let mut by_node: BTreeMap<HierarchyNodeId, usize> = BTreeMap::new();
        let mut order = Vec::new();
        for (i, entry) in entries.iter().enumerate().filter(|(_, e)| !e.processed) {
            if let Some(node) = entry.node
                && by_node.insert(node, i).is_none()
            {
                order.push(node);
            }
        }
        let mut cluster_queue_entries = BTreeMap::new();
        for (node, entry) in by_node {
            let usage = entries[entry].usage(snapshot);
            let share = Drs::of(&mut snapshot.cache.hierarchy, node, Some(&usage.quota));
            cluster_queue_entries.insert(
                node,
                ClusterQueueEntry {
                    entry,
                    usage,
                    share,
                },
            );
        }
        FairSharingIterator {
            order,
            next: 0,
            cluster_queue_entries,
            cohorts: FastHashMap::default(),
            dirty: None,
        }
    }

    /// The next entry.
    pub(crate) fn pop(
        &mut self,
        entries: &[Entry],
        snapshot: &mut SnapshotTransaction<'_>,
    ) -> Option<usize> {
        if let Some(node) = self.dirty.take() {
            self.rerun_tournaments_to_root(node, entries, snapshot);
        }
        while !self
            .cluster_queue_entries
            .contains_key(self.order.get(self.next)?)
        {
            self.next += 1;
        }
        let mut node = self.order[self.next];
        if snapshot.cache.hierarchy.has_parent(node) {
            let root = snapshot.cache.hierarchy.root(node);
            if !self.cohorts.contains_key(&root) {
                self.run_tournaments(root, entries, snapshot);
            }
            let winner = self.cohorts.get(&root).and_then(|c| c.winner.as_ref());
            node = winner.map_or(node, |(queue, _)| *queue);
            let parent = snapshot.cache.hierarchy.parent(node);
            if let Some(cohort) = parent.and_then(|p| self.cohorts.get_mut(&p)) {
                cohort.queues.pop_if(|q| *q == node);
            }
            self.dirty = Some(node);
        }
        Some(self.cluster_queue_entries.remove(&node)?.entry)
    }

    /// Runs the tournaments of all cohorts of a tree, children first.
    fn run_tournaments(
        &mut self,
        root: HierarchyNodeId,
        entries: &[Entry],
        snapshot: &mut SnapshotTransaction<'_>,
    ) {
        let mut cohorts = vec![root];
        let mut next = 0;
        while next < cohorts.len() {
            cohorts.extend(snapshot.cache.hierarchy.child_cohorts(cohorts[next]));
            next += 1;
        }
        for cohort in cohorts.into_iter().rev() {
            let hierarchy = &snapshot.cache.hierarchy;
            let mut queues: Vec<HierarchyNodeId> = hierarchy.child_queues(cohort).to_vec();
            queues.retain(|q| self.cluster_queue_entries.contains_key(q));
            let gates = &snapshot.config.gates;
            queues.sort_by(|a, b| self.compare_entries(*a, *b, entries, gates));
            queues.reverse();
            let state = CohortTournament {
                queues,
                winner: None,
            };
            self.cohorts.insert(cohort, state);
            self.run_tournament(cohort, entries, snapshot);
        }
    }

    fn compare_entries(
        &self,
        a: HierarchyNodeId,
        b: HierarchyNodeId,
        entries: &[Entry],
        gates: &Gates,
    ) -> std::cmp::Ordering {
        let (Some(a), Some(b)) = (
            self.fair_sharing_entry(a, None, entries),
            self.fair_sharing_entry(b, None, entries),
        ) else {
            return std::cmp::Ordering::Equal;
        };
        if entry_less(&a, &b, gates) {
            std::cmp::Ordering::Less
        } else if entry_less(&b, &a, gates) {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    }

    /// Runs the tournaments of the ancestors of a ClusterQueue, upwards.
    fn rerun_tournaments_to_root(
        &mut self,
        queue: HierarchyNodeId,
        entries: &[Entry],
        snapshot: &mut SnapshotTransaction<'_>,
    ) {
        let path: Vec<HierarchyNodeId> = snapshot.cache.hierarchy.ancestors(queue).collect();
        for cohort in path {
            self.run_tournament(cohort, entries, snapshot);
        }
    }

    /// The entry of a ClusterQueue, with the share of the cohort's child that it belongs to; by
    /// default that of the ClusterQueue.
    fn fair_sharing_entry<'a>(
        &'a self,
        queue: HierarchyNodeId,
        share: Option<&'a Drs>,
        entries: &[Entry],
    ) -> Option<FairSharingEntry<'a>> {
        let leaf = self.cluster_queue_entries.get(&queue)?;
        let entry = &entries[leaf.entry];
        Some(FairSharingEntry {
            is_preemptor: entry.is_preemptor,
            share: share.unwrap_or(&leaf.share),
            requested: &leaf.usage.quota,
            priority: entry.info.priority,
            timestamp: entry.info.queue_timestamp,
        })
    }

    /// Runs the tournament of a cohort.
    fn run_tournament(
        &mut self,
        cohort: HierarchyNodeId,
        entries: &[Entry],
        snapshot: &mut SnapshotTransaction<'_>,
    ) {
        let gates = &snapshot.config.gates;
        let mut best: Option<(HierarchyNodeId, FairSharingEntry<'_>)> = None;
        let children = snapshot.cache.hierarchy.child_cohorts(cohort).iter();
        let from_cohorts = children
            .filter_map(|child| self.cohorts.get(child)?.winner.as_ref())
            .map(|(queue, share)| (*queue, Some(share)));
        let own = self.cohorts.get(&cohort).and_then(|c| c.queues.last());
        for (queue, share) in from_cohorts.chain(own.map(|&queue| (queue, None))) {
            let Some(contender) = self.fair_sharing_entry(queue, share, entries) else {
                continue;
            };
            if best
                .as_ref()
                .is_none_or(|(_, best)| entry_less(&contender, best, gates))
            {
                best = Some((queue, contender));
            }
        }
        let winner = best.map(|(queue, _)| queue).and_then(|queue| {
            let usage = &self.cluster_queue_entries.get(&queue)?.usage;
            for (fr, amount) in usage.quota.iter() {
                snapshot.cache.hierarchy.add_usage(queue, fr, amount);
            }
            let share = Drs::of(&mut snapshot.cache.hierarchy, cohort, None);
            for (fr, amount) in usage.quota.iter() {
                snapshot.cache.hierarchy.remove_usage(queue, fr, amount);
            }
            Some((queue, share))
        });
        if let Some(state) = self.cohorts.get_mut(&cohort) {
            state.winner = winner;
        }
    }
}
