//! Construction of the cohort tree.

use std::collections::{BTreeMap, BTreeSet};

use super::quota_node::sort_key;
use super::resource_node::FlavorResourceQuota;
use super::tree::TreeNode;
use super::{CohortTree, QuotaNode};
use crate::model::Row;
use crate::model::queues::{ClusterQueueRow, CohortRow};

impl CohortTree {
    /// The tree of these ClusterQueues and Cohorts, with implicit Cohorts. A cycle of parents is cut
    /// and marked.
    pub(crate) fn build<'a>(
        queues: impl Iterator<Item = &'a ClusterQueueRow> + Clone,
        cohorts: impl Iterator<Item = &'a CohortRow> + Clone,
    ) -> Self {
        let mut parents: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for cohort in cohorts.clone() {
            parents.insert(&cohort.key().name, cohort.parent.as_deref());
        }
        let named: Vec<&str> = queues
            .clone()
            .filter_map(|q| q.cohort.as_deref())
            .chain(parents.values().flatten().copied())
            .collect();
        for name in named {
            parents.entry(name).or_insert(None);
        }
        let cycle = cohorts_in_cycle(&parents);

        let mut tree = Self::default();
        for name in parents.keys() {
            tree.add_node(QuotaNode::Cohort((*name).to_owned()), cycle.contains(name));
        }
        for cohort in cohorts.clone() {
            let quota_node = QuotaNode::Cohort(cohort.key().name.clone());
            let node = tree.node_mut(&quota_node);
            node.exists = true;
            for (fr, quota) in &cohort.quotas {
                node.resources.entry(fr.clone()).or_default().quota = *quota;
            }
        }
        for (name, parent) in &parents {
            if let Some(parent) = parent.filter(|_| !cycle.contains(name)) {
                tree.attach(&QuotaNode::Cohort((*name).to_owned()), parent);
            }
        }
        for queue in queues {
            let quota_node = QuotaNode::ClusterQueue(queue.key().name.clone());
            tree.add_node(quota_node.clone(), false);
            let node = tree.node_mut(&quota_node);
            node.exists = true;
            for (fr, quota) in &queue.quotas {
                node.resources.entry(fr.clone()).or_default().quota = *quota;
            }
            for (fr, usage) in &queue.reservation {
                node.resources.entry(fr.clone()).or_default().usage = *usage;
            }
            if let Some(cohort) = &queue.cohort {
                tree.attach(&quota_node, cohort);
            }
        }
        tree.sort_children();
        tree.accumulate_from_children();
        tree
    }

    fn add_node(&mut self, quota_node: QuotaNode, in_cycle: bool) {
        let id = self.nodes.len();
        self.ids.insert(quota_node.clone(), id);
        self.nodes.push(TreeNode {
            id: quota_node,
            parent: None,
            children: Vec::new(),
            in_cycle,
            exists: false,
            resources: BTreeMap::new(),
        });
    }

    /// The node of an added ClusterQueue or Cohort.
    fn node_mut(&mut self, quota_node: &QuotaNode) -> &mut TreeNode {
        let id = self.ids.get(quota_node).copied().unwrap_or_default();
        &mut self.nodes[id]
    }

    fn attach(&mut self, quota_node: &QuotaNode, parent: &str) {
        let parent = QuotaNode::Cohort(parent.to_owned());
        if let (Some(&child), Some(&parent)) = (self.ids.get(quota_node), self.ids.get(&parent)) {
            self.nodes[child].parent = Some(parent);
            self.nodes[parent].children.push(child);
        }
    }

    fn sort_children(&mut self) {
        let keys: Vec<_> = self.nodes.iter().map(|n| sort_key(&n.id)).collect();
        for node in &mut self.nodes {
            node.children.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
        }
    }

    /// Accumulates quota and usage from the leaves to the roots.
    fn accumulate_from_children(&mut self) {
        let mut roots: Vec<usize> = (0..self.nodes.len())
            .filter(|id| self.nodes[*id].parent.is_none())
            .collect();
        // Parents come before children, so the reverse order handles children first.
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(id) = roots.pop() {
            order.push(id);
            roots.extend(&self.nodes[id].children);
        }
        for id in order.into_iter().rev() {
            let parent = self.nodes[id].parent;
            for cell in self.nodes[id].resources.values_mut() {
                cell.subtree_quota = cell.subtree_quota.plus(cell.quota.nominal);
            }
            let Some(parent) = parent else { continue };
            let brought: Vec<_> = self.nodes[id]
                .resources
                .iter()
                .map(|(fr, cell)| (fr.clone(), *cell))
                .collect();
            for (fr, cell) in brought {
                let up: &mut FlavorResourceQuota =
                    self.nodes[parent].resources.entry(fr).or_default();
                up.subtree_quota = up
                    .subtree_quota
                    .plus(cell.subtree_quota.minus(cell.local_quota()));
                up.usage = up.usage.plus(cell.usage.minus_or_zero(cell.local_quota()));
            }
        }
    }
}

/// The Cohorts that are their own ancestors.
fn cohorts_in_cycle<'a>(parents: &BTreeMap<&'a str, Option<&'a str>>) -> BTreeSet<&'a str> {
    let mut cycle = BTreeSet::new();
    for &start in parents.keys() {
        let mut seen = BTreeSet::new();
        let mut at = start;
        while let Some(up) = parents.get(at).copied().flatten() {
            if up == start {
                cycle.insert(start);
                break;
            }
            if !seen.insert(up) {
                break;
            }
            at = up;
        }
    }
    cycle
}
