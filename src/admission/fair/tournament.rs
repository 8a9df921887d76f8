//! [`Tournament`]: which entry of a cycle goes next under fair sharing.
//!
//! Each cohort sends the entry of its best child upwards, judged by the child's share with that
//! workload added; the one that arrives at the root goes next. Usage only changes on the path of
//! the entry that went last, so that only this path is judged anew.

use std::collections::BTreeMap;

use super::compare::{Contender, goes_before};
use crate::cache::{Drs, NodeId};
use crate::cycle::Entry;
use crate::gates::Gates;
use crate::lookup::Lookup;
use crate::snapshot::{Snapshot, Usage};

/// A ClusterQueue's entry with its share under the lowest cohort.
struct Leaf {
    entry: usize,
    usage: Usage,
    share: Drs,
}

/// A cohort with what it has to send upwards.
#[derive(Default)]
struct Cohort {
    /// The entries of its ClusterQueues by node, the best last.
    queues: Vec<NodeId>,
    /// The ClusterQueue that wins, and the share of this cohort with its workload.
    winner: Option<(NodeId, Drs)>,
}

/// Which entry of a cycle goes next.
pub struct Tournament {
    /// The ClusterQueues with an entry left, in the order of the heads. Trees have no order among
    /// each other upstream; here it is this one.
    order: Vec<NodeId>,
    next: usize,
    leaves: BTreeMap<NodeId, Leaf>,
    cohorts: Lookup<NodeId, Cohort>,
    /// Where usage may have changed since the cohort was judged.
    dirty: Option<NodeId>,
}

impl Tournament {
    /// A tournament among the entries whose turn did not come yet. Of two in one ClusterQueue only the later takes part.
    pub fn new(entries: &[Entry], snapshot: &mut Snapshot<'_>) -> Self {
        let mut by_node: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut order = Vec::new();
        for (i, entry) in entries.iter().enumerate().filter(|(_, e)| !e.processed) {
            if let Some(node) = entry.node
                && by_node.insert(node, i).is_none()
            {
                order.push(node);
            }
        }
        let mut leaves = BTreeMap::new();
        for (node, entry) in by_node {
            let usage = entries[entry].usage(snapshot);
            let share = Drs::of(&mut snapshot.cache.forest, node, Some(&usage.quota));
            leaves.insert(
                node,
                Leaf {
                    entry,
                    usage,
                    share,
                },
            );
        }
        Tournament {
            order,
            next: 0,
            leaves,
            cohorts: Lookup::default(),
            dirty: None,
        }
    }

    /// Takes the next entry.
    pub fn pop(&mut self, entries: &[Entry], snapshot: &mut Snapshot<'_>) -> Option<usize> {
        if let Some(node) = self.dirty.take() {
            self.judge_path(node, entries, snapshot);
        }
        while !self.leaves.contains_key(self.order.get(self.next)?) {
            self.next += 1;
        }
        let mut node = self.order[self.next];
        if snapshot.cache.forest.has_parent(node) {
            let root = snapshot.cache.forest.root(node);
            if !self.cohorts.contains_key(&root) {
                self.judge_tree(root, entries, snapshot);
            }
            let winner = self.cohorts.get(&root).and_then(|c| c.winner.as_ref());
            node = winner.map_or(node, |(queue, _)| *queue);
            let parent = snapshot.cache.forest.parent(node);
            if let Some(cohort) = parent.and_then(|p| self.cohorts.get_mut(&p)) {
                cohort.queues.pop_if(|q| *q == node);
            }
            self.dirty = Some(node);
        }
        Some(self.leaves.remove(&node)?.entry)
    }

    /// Judges all cohorts of a tree, the lower ones first.
    fn judge_tree(&mut self, root: NodeId, entries: &[Entry], snapshot: &mut Snapshot<'_>) {
        let mut cohorts = vec![root];
        let mut next = 0;
        while next < cohorts.len() {
            cohorts.extend(snapshot.cache.forest.child_cohorts(cohorts[next]));
            next += 1;
        }
        for cohort in cohorts.into_iter().rev() {
            let forest = &snapshot.cache.forest;
            let mut queues: Vec<NodeId> = forest.child_queues(cohort).to_vec();
            queues.retain(|q| self.leaves.contains_key(q));
            let gates = &snapshot.config.gates;
            queues.sort_by(|a, b| self.order_of(*a, *b, entries, gates));
            queues.reverse();
            let state = Cohort {
                queues,
                winner: None,
            };
            self.cohorts.insert(cohort, state);
            self.judge(cohort, entries, snapshot);
        }
    }

    fn order_of(
        &self,
        a: NodeId,
        b: NodeId,
        entries: &[Entry],
        gates: &Gates,
    ) -> std::cmp::Ordering {
        let (Some(a), Some(b)) = (
            self.contender(a, None, entries),
            self.contender(b, None, entries),
        ) else {
            return std::cmp::Ordering::Equal;
        };
        if goes_before(&a, &b, gates) {
            std::cmp::Ordering::Less
        } else if goes_before(&b, &a, gates) {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    }

    /// Judges the cohorts above a ClusterQueue, upwards.
    fn judge_path(&mut self, queue: NodeId, entries: &[Entry], snapshot: &mut Snapshot<'_>) {
        let path: Vec<NodeId> = snapshot.cache.forest.ancestors(queue).collect();
        for cohort in path {
            self.judge(cohort, entries, snapshot);
        }
    }

    /// The entry of a ClusterQueue, with the share of the child of some cohort it comes up
    /// through; its own when that is the ClusterQueue itself.
    fn contender<'a>(
        &'a self,
        queue: NodeId,
        share: Option<&'a Drs>,
        entries: &[Entry],
    ) -> Option<Contender<'a>> {
        let leaf = self.leaves.get(&queue)?;
        let entry = &entries[leaf.entry];
        Some(Contender {
            is_preemptor: entry.is_preemptor,
            share: share.unwrap_or(&leaf.share),
            requested: &leaf.usage.quota,
            priority: entry.info.priority,
            timestamp: entry.info.queue_timestamp,
        })
    }

    /// Settles what a cohort sends upwards.
    fn judge(&mut self, cohort: NodeId, entries: &[Entry], snapshot: &mut Snapshot<'_>) {
        let gates = &snapshot.config.gates;
        let mut best: Option<(NodeId, Contender<'_>)> = None;
        let children = snapshot.cache.forest.child_cohorts(cohort).iter();
        let from_cohorts = children
            .filter_map(|child| self.cohorts.get(child)?.winner.as_ref())
            .map(|(queue, share)| (*queue, Some(share)));
        let own = self.cohorts.get(&cohort).and_then(|c| c.queues.last());
        for (queue, share) in from_cohorts.chain(own.map(|&queue| (queue, None))) {
            let Some(contender) = self.contender(queue, share, entries) else {
                continue;
            };
            if best
                .as_ref()
                .is_none_or(|(_, best)| goes_before(&contender, best, gates))
            {
                best = Some((queue, contender));
            }
        }
        let winner = best.map(|(queue, _)| queue).and_then(|queue| {
            let usage = &self.leaves.get(&queue)?.usage;
            for (fr, amount) in usage.quota.iter() {
                snapshot.cache.forest.add_usage(queue, fr, amount);
            }
            let share = Drs::of(&mut snapshot.cache.forest, cohort, None);
            for (fr, amount) in usage.quota.iter() {
                snapshot.cache.forest.remove_usage(queue, fr, amount);
            }
            Some((queue, share))
        });
        if let Some(state) = self.cohorts.get_mut(&cohort) {
            state.winner = winner;
        }
    }
}
