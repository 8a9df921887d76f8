//! The tree of Cohorts and ClusterQueues.

use std::collections::{BTreeMap, BTreeSet};

use kueue_lab_quota_tree::{CohortHierarchy, HierarchyNodeId};

use super::QuotaNode;
use crate::model::queues::FlavorResource;

/// All ClusterQueues and Cohorts as trees.
#[derive(Clone, Debug, Default)]
pub(crate) struct CohortTree {
    /// Quota and usage. No Cohort of it is in a cycle: their parents are cut.
    pub(super) hierarchy: CohortHierarchy,
    pub(super) ids: BTreeMap<QuotaNode, HierarchyNodeId>,
    pub(super) names: BTreeMap<HierarchyNodeId, QuotaNode>,
    /// Flavors and resources by their number in the hierarchy.
    pub(super) frs: Vec<FlavorResource>,
    /// The Cohorts in a cycle, in which nothing is admitted.
    pub(super) in_cycle: BTreeSet<QuotaNode>,
    /// The nodes with an object; implicit Cohorts have none.
    pub(super) existing: BTreeSet<QuotaNode>,
}

impl CohortTree {
    /// The roots: Cohorts by name, then ClusterQueues without a cohort by name.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &QuotaNode> {
        let roots = self.ids.iter();
        let roots = roots.filter(|(_, id)| !self.hierarchy.has_parent(**id));
        roots.map(|(node, _)| node)
    }

    /// The children: Cohorts, then ClusterQueues, each by name.
    pub(crate) fn children(&self, quota_node: &QuotaNode) -> impl Iterator<Item = &QuotaNode> {
        let ids = self.ids.get(quota_node).into_iter();
        let ids = ids.flat_map(|id| self.children_of(*id));
        ids.filter_map(|id| self.names.get(&id))
    }

    pub(super) fn children_of(
        &self,
        id: HierarchyNodeId,
    ) -> impl DoubleEndedIterator<Item = HierarchyNodeId> {
        let cohorts = self.hierarchy.child_cohorts(id).iter();
        cohorts.chain(self.hierarchy.child_queues(id)).copied()
    }

    /// The ancestors, from the root down.
    pub(crate) fn path(&self, quota_node: &QuotaNode) -> Vec<&str> {
        let ids = self.ids.get(quota_node).into_iter();
        let ids = ids.flat_map(|id| self.hierarchy.ancestors(*id));
        let mut path: Vec<&str> = ids.map(|id| &*self.hierarchy[id].name).collect();
        path.reverse();
        path
    }

    /// The root of the tree of a node.
    pub(crate) fn root<'a>(&'a self, quota_node: &'a QuotaNode) -> &'a QuotaNode {
        let root = self.ids.get(quota_node).map(|id| self.hierarchy.root(*id));
        let root = root.and_then(|root| self.names.get(&root));
        root.unwrap_or(quota_node)
    }

    /// Names of all ClusterQueues in the subtree.
    pub(crate) fn descendant_cluster_queues(&self, quota_node: &QuotaNode) -> Vec<&str> {
        let mut found = Vec::new();
        let mut open: Vec<HierarchyNodeId> =
            self.ids.get(quota_node).copied().into_iter().collect();
        while let Some(id) = open.pop() {
            if let Some(QuotaNode::ClusterQueue(name)) = self.names.get(&id) {
                found.push(name.as_str());
            }
            open.extend(self.children_of(id).rev());
        }
        found
    }

    /// Whether the node is in a cycle of Cohorts.
    pub(crate) fn in_cycle(&self, quota_node: &QuotaNode) -> bool {
        self.in_cycle.contains(quota_node)
    }

    /// Whether the object exists; false for implicit Cohorts.
    pub(crate) fn exists(&self, quota_node: &QuotaNode) -> bool {
        self.existing.contains(quota_node)
    }

    /// The flavors and resources with quota or usage at a node, sorted.
    pub(crate) fn resources(
        &self,
        quota_node: &QuotaNode,
    ) -> impl Iterator<Item = &FlavorResource> {
        let ids = self.ids.get(quota_node).into_iter();
        let usages = ids.flat_map(|id| self.hierarchy[*id].resources.usages());
        let frs: BTreeSet<&FlavorResource> = usages
            .filter_map(|(fr, _)| self.frs.get(fr.index()))
            .collect();
        frs.into_iter()
    }
}
