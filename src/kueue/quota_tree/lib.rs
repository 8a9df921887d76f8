//! The quota tree: Cohorts and ClusterQueues with quota and usage by flavor and resource, as upstream's
//! `cache/hierarchy` and `cache/scheduler/resource_node.go`.
//!
//! The engine, the UI, the lints and `plan` compute quota with it. Must not depend on workloads.

mod available_quota;
mod contribution;
mod flavor_resource;
mod flavor_resource_quota;
mod hierarchy;
mod lent_quota;
mod quotas;
mod resource_node;
pub mod resources;
mod subtree_quota;
#[cfg(test)]
mod test_fixtures;
#[cfg(test)]
mod tree_tests;
mod usage;

pub use flavor_resource::{
    FlavorResource, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable,
};
pub use flavor_resource_quota::Quota;
pub use hierarchy::{
    CohortHasCycle, CohortHierarchy, HierarchyNode, HierarchyNodeId, HierarchyNodeKind,
};
pub use quotas::{amount, amount_from_quantity, quota, quotas};
pub use resource_node::ResourceNode;
