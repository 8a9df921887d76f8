//! Nodes of the tree.

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QuotaNode {
    /// A ClusterQueue by name.
    ClusterQueue(String),
    /// A Cohort by name, explicit or implicit.
    Cohort(String),
}

impl QuotaNode {
    /// The name.
    pub(crate) fn name(&self) -> &str {
        match self {
            QuotaNode::ClusterQueue(name) | QuotaNode::Cohort(name) => name,
        }
    }
}

/// Cohorts before ClusterQueues, each by name.
pub(super) fn sort_key(quota_node: &QuotaNode) -> (u8, String) {
    match quota_node {
        QuotaNode::Cohort(name) => (0, name.clone()),
        QuotaNode::ClusterQueue(name) => (1, name.clone()),
    }
}
