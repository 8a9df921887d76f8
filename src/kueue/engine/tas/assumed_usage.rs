//! [`AssumedUsage`]: usage assumed during one search.
//!
//! Must not depend on capacity.

use std::collections::BTreeMap;

use super::topology_tree::{Leaf, TopologyTree, domain_id};
use crate::resources::{Requests, ResourceName};
use crate::topology_assignment::TopologyAssignment;

/// Requests by leaf, including `pods`. Leaves are identified by name, so that a host is the same in
/// all flavors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AssumedUsage(BTreeMap<String, Requests>);

/// The requests of some pods, including `pods`.
pub(super) fn with_pods(single: &Requests, count: i32) -> Requests {
    let mut usage = single.scaled_up(i64::from(count));
    usage.add_one(ResourceName::pods(), i64::from(count));
    usage
}

impl AssumedUsage {
    /// Adds the usage of an assignment.
    pub(super) fn add(&mut self, assignment: &TopologyAssignment, single: &Requests) {
        for domain in &assignment.domains {
            let usage = self
                .0
                .entry(domain_id(&domain.values).into_owned())
                .or_default();
            usage.add(&with_pods(single, domain.count));
        }
    }

    /// The assumed usage on the leaves of a tree.
    pub(super) fn by_leaf(&self, tree: &TopologyTree) -> BTreeMap<Leaf, &Requests> {
        self.0
            .iter()
            .filter_map(|(id, usage)| Some((tree.leaf_of_id(id)?, usage)))
            .collect()
    }
}
