//! The tree of Cohorts and ClusterQueues.

use std::collections::BTreeMap;

use super::QuotaNode;
use super::quota_node::sort_key;
use super::resource_node::FlavorResourceQuota;
use crate::model::queues::FlavorResource;

/// All ClusterQueues and Cohorts as trees.
#[derive(Clone, Debug, Default)]
pub(crate) struct CohortTree {
    pub(super) nodes: Vec<TreeNode>,
    pub(super) ids: BTreeMap<QuotaNode, usize>,
}

/// Data of a node.
#[derive(Clone, Debug)]
pub(super) struct TreeNode {
    pub(super) id: QuotaNode,
    pub(super) parent: Option<usize>,
    /// Cohorts first, then ClusterQueues, each by name.
    pub(super) children: Vec<usize>,
    /// Whether it is in a cycle of Cohorts, in which nothing is admitted.
    pub(super) in_cycle: bool,
    /// Whether an object of that name exists.
    pub(super) exists: bool,
    pub(super) resources: BTreeMap<FlavorResource, FlavorResourceQuota>,
}

impl CohortTree {
    /// The roots: Cohorts by name, then ClusterQueues without a cohort by name.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &QuotaNode> {
        let mut roots: Vec<&TreeNode> = self.nodes.iter().filter(|n| n.parent.is_none()).collect();
        roots.sort_by_key(|n| sort_key(&n.id));
        roots.into_iter().map(|n| &n.id)
    }

    /// The children.
    pub(crate) fn children(&self, quota_node: &QuotaNode) -> impl Iterator<Item = &QuotaNode> {
        self.node(quota_node)
            .into_iter()
            .flat_map(|n| &n.children)
            .map(|id| &self.nodes[*id].id)
    }

    /// The ancestors, from the root down.
    pub(crate) fn path(&self, quota_node: &QuotaNode) -> Vec<&str> {
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
    pub(crate) fn root<'a>(&'a self, quota_node: &'a QuotaNode) -> &'a QuotaNode {
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
    pub(crate) fn descendant_cluster_queues(&self, quota_node: &QuotaNode) -> Vec<&str> {
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
    pub(crate) fn in_cycle(&self, quota_node: &QuotaNode) -> bool {
        self.node(quota_node).is_some_and(|n| n.in_cycle)
    }

    /// Whether the object exists; false for implicit Cohorts.
    pub(crate) fn exists(&self, quota_node: &QuotaNode) -> bool {
        self.node(quota_node).is_some_and(|n| n.exists)
    }

    /// The flavors and resources with quota or usage at a node.
    pub(crate) fn resources(
        &self,
        quota_node: &QuotaNode,
    ) -> impl Iterator<Item = &FlavorResource> {
        self.node(quota_node)
            .into_iter()
            .flat_map(|n| n.resources.keys())
    }

    pub(super) fn node(&self, quota_node: &QuotaNode) -> Option<&TreeNode> {
        self.ids.get(quota_node).map(|id| &self.nodes[*id])
    }
}
