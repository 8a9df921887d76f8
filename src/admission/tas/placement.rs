//! [`Placement`]: one search for places, with its working figures for every domain.
//!
//! The search has two phases. The first ([`super::counts`]) works out how many pods fit in each
//! domain, from the leaves up. The second ([`super::fit`], [`super::descend`],
//! [`super::balanced`]) picks domains on the requested level and goes down from there, turning the
//! figures of picked domains from what fits into what is placed.

use super::TasGates;
use super::resolved_topology_request::ResolvedTopologyRequest;
use super::topology_tree::{Domain, TopologyTree};
use crate::topology_assignment::{TopologyAssignment, TopologyDomainAssignment};

/// Figures of one domain: first what fits, then, for picked domains, what is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DomainState {
    /// Pods, if none of them is the leader.
    pub(super) pods: i32,
    /// Slices (0 below the level of slices).
    pub(super) slices: i32,
    /// Pods next to a leader.
    pub(super) pods_with_leader: i32,
    /// Slices next to a leader.
    pub(super) slices_with_leader: i32,
    /// Leaders: one or none.
    pub(super) leaders: i32,
    /// How much the pods prefer to be here.
    pub(super) affinity: i64,
}

/// One search for places.
#[derive(Debug)]
pub(super) struct Placement<'a> {
    pub(super) tree: &'a TopologyTree,
    pub(super) gates: TasGates,
    pub(super) topology_request: &'a ResolvedTopologyRequest,
    pub(super) states: Vec<DomainState>,
}

impl Placement<'_> {
    pub(super) fn state(&self, domain: Domain) -> &DomainState {
        &self.states[domain as usize]
    }

    pub(super) fn state_mut(&mut self, domain: Domain) -> &mut DomainState {
        &mut self.states[domain as usize]
    }

    /// Whether pods go where least is free, to keep roomy domains for those that need them, rather
    /// than where they leave least over.
    pub(super) fn use_least_free_capacity_algorithm(&self) -> bool {
        self.topology_request.unconstrained && self.gates.profile_mixed
    }

    /// The children of some domains.
    pub(super) fn children_of(&self, domains: &[Domain]) -> Vec<Domain> {
        domains
            .iter()
            .flat_map(|&d| self.tree.children(d))
            .collect()
    }

    /// The assignment that `non_tas_usage` says for leaves, in the order of their names.
    pub(super) fn build_assignment(
        &self,
        leaves: &[Domain],
        pods: impl Fn(&DomainState) -> i32,
    ) -> TopologyAssignment {
        let from = self.tree.first_assigned_level();
        let mut leaves = leaves.to_vec();
        leaves.sort_unstable();
        let domains = leaves.into_iter().filter_map(|leaf| {
            let count = pods(self.state(leaf));
            (count != 0).then(|| TopologyDomainAssignment {
                values: self.tree.values(leaf, from),
                count,
            })
        });
        TopologyAssignment {
            levels: self.tree.levels()[from..].to_vec(),
            domains: domains.collect(),
        }
    }
}
