//! Nodes of the tree.

/// A node of the tree. Cohorts come before ClusterQueues, each by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QuotaNode {
    /// A Cohort by name, explicit or implicit.
    Cohort(String),
    /// A ClusterQueue by name.
    ClusterQueue(String),
}

impl QuotaNode {
    /// The name.
    pub(crate) fn name(&self) -> &str {
        match self {
            QuotaNode::ClusterQueue(name) | QuotaNode::Cohort(name) => name,
        }
    }
}
