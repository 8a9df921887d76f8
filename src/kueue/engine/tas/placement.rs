//! [`Placement`]: one search, with the counts of every domain.
//!
//! The search has two phases. Phase 1 ([`super::fill_in_counts`]) computes how many pods fit in
//! each domain, from the leaves up. Phase 2 ([`super::find_level_with_fit_domains`],
//! [`super::update_counts_to_minimum`], [`super::balanced_placement`]) selects domains on the
//! requested level and descends to the leaves, replacing the counts of selected domains by what is
//! placed there.

use super::TasGates;
use super::resolved_topology_request::ResolvedTopologyRequest;
use super::topology_tree::{Domain, TopologyTree};
use crate::topology_assignment::{TopologyAssignment, TopologyDomainAssignment};

/// The counts of one domain: the pods that fit and, once it is selected, the pods that are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DomainState {
    /// Pods without a leader.
    pub(super) pods: i32,
    /// Slices (0 below the slice level).
    pub(super) slices: i32,
    /// Pods with a leader.
    pub(super) pods_with_leader: i32,
    /// Slices with a leader.
    pub(super) slices_with_leader: i32,
    /// Leaders: 0 or 1.
    pub(super) leaders: i32,
    /// The affinity score.
    pub(super) affinity: i64,
}

/// One search.
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

    /// Whether to use the domains with the least free capacity (LeastFreeCapacity) instead of the
    /// best fit.
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

    /// The assignment with the pod counts of the leaves, in the order of their names.
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
