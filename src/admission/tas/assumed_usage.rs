//! [`AssumedUsage`]: what a search has already promised on leaves.
//!
//! Must not know of capacity.

use std::collections::BTreeMap;

use super::topology_tree::{Leaf, TopologyTree, domain_id};
use crate::resources::{Requests, ResourceName};
use crate::topology_assignment::TopologyAssignment;

/// Requests by leaf, the share of `non_tas_usage` included. Leaves go by name, so that hosts are the same
/// in every flavor that has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AssumedUsage(BTreeMap<String, Requests>);

/// What some pods take, the share of `non_tas_usage` included.
pub(super) fn with_pods(single: &Requests, count: i32) -> Requests {
    let mut usage = single.scaled_up(i64::from(count));
    usage.add_one(ResourceName::pods(), i64::from(count));
    usage
}

impl AssumedUsage {
    /// Promises the places of an assignment.
    pub(super) fn add(&mut self, assignment: &TopologyAssignment, single: &Requests) {
        for domain in &assignment.domains {
            let usage = self
                .0
                .entry(domain_id(&domain.values).into_owned())
                .or_default();
            usage.add(&with_pods(single, domain.count));
        }
    }

    /// What is promised on the leaves that a tree has.
    pub(super) fn by_leaf(&self, tree: &TopologyTree) -> BTreeMap<Leaf, &Requests> {
        self.0
            .iter()
            .filter_map(|(id, usage)| Some((tree.leaf_of_id(id)?, usage)))
            .collect()
    }
}
