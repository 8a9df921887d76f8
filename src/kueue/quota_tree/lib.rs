//! The quota tree: Cohorts and ClusterQueues with quota and usage by flavor and resource, as upstream's
//! `cache/hierarchy` and `cache/scheduler/resource_node.go`.
//!
//! The engine, the UI, the lints and `plan` compute quota with it. Must not depend on workloads.

mod flavor_resource;
mod hierarchy;
mod quotas;
mod resource_node;
pub mod resources;
#[cfg(test)]
mod test_fixtures;

pub use flavor_resource::{
    FlavorResource, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable,
};
pub use hierarchy::{
    CohortHasCycle, CohortHierarchy, HierarchyNode, HierarchyNodeId, HierarchyNodeKind,
};
pub use quotas::{amount, amount_from_quantity, quota, quotas};
pub use resource_node::{Quota, ResourceNode};
