//! The cohort tree: nominal quota, usage, borrowing and lending of ClusterQueues and Cohorts.
//!
//! Computed from specs and reported usage only, so it is right for any controller.

mod build;
mod resource_node;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::queues::FlavorResource;
use crate::text::Amount;

/// The quota of one resource in one flavor in the spec of a ClusterQueue or Cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The nominal quota.
    pub nominal: Amount,
    /// The borrowing limit; `None` for no limit.
    pub borrowing_limit: Option<Amount>,
    /// The lending limit; `None` for no limit.
    pub lending_limit: Option<Amount>,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuotaNode {
    /// A ClusterQueue by name.
    ClusterQueue(String),
    /// A Cohort by name, explicit or implicit.
    Cohort(String),
}

impl QuotaNode {
    /// The name.
    pub fn name(&self) -> &str {
        match self {
            QuotaNode::ClusterQueue(name) | QuotaNode::Cohort(name) => name,
        }
    }
}

/// All ClusterQueues and Cohorts as trees.
#[derive(Clone, Debug, Default)]
pub struct CohortTree {
    nodes: Vec<TreeNode>,
    ids: BTreeMap<QuotaNode, usize>,
}

/// Data of a node.
#[derive(Clone, Debug)]
struct TreeNode {
    id: QuotaNode,
    parent: Option<usize>,
    /// Cohorts first, then ClusterQueues, each by name.
    children: Vec<usize>,
    /// Whether it is in a cycle of Cohorts, in which nothing is admitted.
    in_cycle: bool,
    /// Whether an object of that name exists.
    exists: bool,
    resources: BTreeMap<FlavorResource, FlavorResourceQuota>,
}

/// Quota and usage of one resource in one flavor at a node.
#[derive(Clone, Copy, Debug, Default)]
struct FlavorResourceQuota {
    quota: Quota,
    /// Own quota plus the quota that children lend.
    subtree_quota: Amount,
    /// Own usage; for a Cohort the usage that its children borrow from it.
    usage: Amount,
}

/// Quota status of one resource in one flavor at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaStatus {
    /// Nominal quota; for a Cohort including that of its subtree.
    pub nominal: Amount,
    /// Usage; may exceed `nominal`.
    pub usage: Amount,
    /// The borrowed part of the usage.
    pub borrowed: Amount,
    /// Lower bound of the quota lent to others.
    pub lent_min: Amount,
    /// Upper bound of the quota lent to others. With several lenders Kueue does not define whose
    /// quota is borrowed.
    pub lent_max: Amount,
    /// Quota that can be used in addition now.
    pub available: Amount,
    /// Quota that can be used at most, if nothing else is used.
    pub potential_available: Amount,
    /// The quota in the spec.
    pub quota: Quota,
}

impl CohortTree {
    /// The roots: Cohorts by name, then ClusterQueues without a cohort by name.
    pub fn roots(&self) -> impl Iterator<Item = &QuotaNode> {
        let mut roots: Vec<&TreeNode> = self.nodes.iter().filter(|n| n.parent.is_none()).collect();
        roots.sort_by_key(|n| sort_key(&n.id));
        roots.into_iter().map(|n| &n.id)
    }

    /// The children.
    pub fn children(&self, quota_node: &QuotaNode) -> impl Iterator<Item = &QuotaNode> {
        self.node(quota_node)
            .into_iter()
            .flat_map(|n| &n.children)
            .map(|id| &self.nodes[*id].id)
    }

    /// The ancestors, from the root down.
    pub fn path(&self, quota_node: &QuotaNode) -> Vec<&str> {
        let mut path = Vec::new();
        let mut at = self.node(quota_node).and_then(|n| n.parent);
        while let Some(id) = at {
            path.push(self.nodes[id].id.name());
            at = self.nodes[id].parent;
        }
        path.reverse();
        path
    }

    /// The root of the tree of a node.
    pub fn root<'a>(&'a self, quota_node: &'a QuotaNode) -> &'a QuotaNode {
        let mut at = match self.ids.get(quota_node) {
            Some(id) => *id,
            None => return quota_node,
        };
        while let Some(up) = self.nodes[at].parent {
            at = up;
        }
        &self.nodes[at].id
    }

    /// Names of all ClusterQueues in the subtree.
    pub fn descendant_cluster_queues(&self, quota_node: &QuotaNode) -> Vec<&str> {
        let mut found = Vec::new();
        let mut open: Vec<usize> = self.ids.get(quota_node).copied().into_iter().collect();
        while let Some(id) = open.pop() {
            let node = &self.nodes[id];
            if let QuotaNode::ClusterQueue(name) = &node.id {
                found.push(name.as_str());
            }
            open.extend(node.children.iter().rev());
        }
        found
    }

    /// Whether the node is in a cycle of Cohorts.
    pub fn in_cycle(&self, quota_node: &QuotaNode) -> bool {
        self.node(quota_node).is_some_and(|n| n.in_cycle)
    }

    /// Whether the object exists; false for implicit Cohorts.
    pub fn exists(&self, quota_node: &QuotaNode) -> bool {
        self.node(quota_node).is_some_and(|n| n.exists)
    }

    /// The flavors and resources with quota or usage at a node.
    pub fn resources(&self, quota_node: &QuotaNode) -> impl Iterator<Item = &FlavorResource> {
        self.node(quota_node)
            .into_iter()
            .flat_map(|n| n.resources.keys())
    }

    fn node(&self, quota_node: &QuotaNode) -> Option<&TreeNode> {
        self.ids.get(quota_node).map(|id| &self.nodes[*id])
    }
}

/// Cohorts before ClusterQueues, each by name.
fn sort_key(quota_node: &QuotaNode) -> (u8, String) {
    match quota_node {
        QuotaNode::Cohort(name) => (0, name.clone()),
        QuotaNode::ClusterQueue(name) => (1, name.clone()),
    }
}
