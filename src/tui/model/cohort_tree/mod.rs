//! The quota arithmetic a person wants to see: who may use how much, who borrowed, and whose quota
//! it is that was borrowed.
//!
//! Reckoned from specs and reported usage only, so that it holds for any controller. It decides
//! nothing.

mod build;
mod resource_node;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::queues::FlavorResource;
use crate::text::Amount;

/// The quota of one resource in one flavor, as written in a ClusterQueue or Cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Its own.
    pub nominal: Amount,
    /// The most it may borrow on top; without it, whatever the cohort can spare.
    pub borrowing_limit: Option<Amount>,
    /// The most it lends of its own; without it, all.
    pub lending_limit: Option<Amount>,
}

/// A ClusterQueue or Cohort of the forest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuotaNode {
    /// A ClusterQueue by name.
    ClusterQueue(String),
    /// A Cohort by name, whether or not there is an object.
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

/// One place in a tree.
#[derive(Clone, Debug)]
struct TreeNode {
    id: QuotaNode,
    parent: Option<usize>,
    /// Cohorts first, then ClusterQueues, each by name.
    children: Vec<usize>,
    /// Whether it stands in a circle of Cohorts, in which nothing is admitted.
    in_cycle: bool,
    /// Whether an object of that name exists.
    exists: bool,
    resources: BTreeMap<FlavorResource, FlavorResourceQuota>,
}

/// Quota and usage of one resource in one flavor at one place.
#[derive(Clone, Copy, Debug, Default)]
struct FlavorResourceQuota {
    quota: Quota,
    /// Own quota and what the places below bring.
    subtree_quota: Amount,
    /// Own usage, or for a Cohort what the places below take from it.
    usage: Amount,
}

/// How one resource in one flavor stands at one place of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaStatus {
    /// Own quota; for a Cohort with what its members bring.
    pub nominal: Amount,
    /// What is used; may be above `nominal`.
    pub usage: Amount,
    /// What of it is borrowed.
    pub borrowed: Amount,
    /// The least that others use of this place's quota.
    pub lent_min: Amount,
    /// The most that others may be using of it. With several lenders it cannot be told whose quota
    /// a borrower has, so the two may differ.
    pub lent_max: Amount,
    /// What could be used in addition right now.
    pub available: Amount,
    /// What could ever be used: with everything idle and all that may be borrowed.
    pub potential_available: Amount,
    /// The limits as written.
    pub quota: Quota,
}

impl CohortTree {
    /// Roots in order: Cohorts by name, then ClusterQueues without a cohort by name.
    pub fn roots(&self) -> impl Iterator<Item = &QuotaNode> {
        let mut roots: Vec<&TreeNode> = self.nodes.iter().filter(|n| n.parent.is_none()).collect();
        roots.sort_by_key(|n| sort_key(&n.id));
        roots.into_iter().map(|n| &n.id)
    }

    /// The places directly below.
    pub fn children(&self, member: &QuotaNode) -> impl Iterator<Item = &QuotaNode> {
        self.node(member)
            .into_iter()
            .flat_map(|n| &n.children)
            .map(|id| &self.nodes[*id].id)
    }

    /// The Cohorts above, from the root down.
    pub fn path(&self, member: &QuotaNode) -> Vec<&str> {
        let mut path = Vec::new();
        let mut at = self.node(member).and_then(|n| n.parent);
        while let Some(id) = at {
            path.push(self.nodes[id].id.name());
            at = self.nodes[id].parent;
        }
        path.reverse();
        path
    }

    /// The place at the top of the member's tree; the member itself where it has no parent.
    pub fn root<'a>(&'a self, member: &'a QuotaNode) -> &'a QuotaNode {
        let mut at = match self.ids.get(member) {
            Some(id) => *id,
            None => return member,
        };
        while let Some(up) = self.nodes[at].parent {
            at = up;
        }
        &self.nodes[at].id
    }

    /// Names of all ClusterQueues in the tree of a place.
    pub fn descendant_cluster_queues(&self, member: &QuotaNode) -> Vec<&str> {
        let mut found = Vec::new();
        let mut open: Vec<usize> = self.ids.get(member).copied().into_iter().collect();
        while let Some(id) = open.pop() {
            let node = &self.nodes[id];
            if let QuotaNode::ClusterQueue(name) = &node.id {
                found.push(name.as_str());
            }
            open.extend(node.children.iter().rev());
        }
        found
    }

    /// Whether the place stands in a circle of Cohorts.
    pub fn in_cycle(&self, member: &QuotaNode) -> bool {
        self.node(member).is_some_and(|n| n.in_cycle)
    }

    /// Whether there is an object; false for a cohort that is only named by its members.
    pub fn exists(&self, member: &QuotaNode) -> bool {
        self.node(member).is_some_and(|n| n.exists)
    }

    /// The flavors and resources that play a part at a place.
    pub fn resources(&self, member: &QuotaNode) -> impl Iterator<Item = &FlavorResource> {
        self.node(member)
            .into_iter()
            .flat_map(|n| n.resources.keys())
    }

    fn node(&self, member: &QuotaNode) -> Option<&TreeNode> {
        self.ids.get(member).map(|id| &self.nodes[*id])
    }
}

/// Cohorts before ClusterQueues, each by name.
fn sort_key(member: &QuotaNode) -> (u8, String) {
    match member {
        QuotaNode::Cohort(name) => (0, name.clone()),
        QuotaNode::ClusterQueue(name) => (1, name.clone()),
    }
}
