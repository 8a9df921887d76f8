//! [`TasFlavorSnapshot`]: the topology of one flavor with its free capacity.
//!
//! It exists as long as the flavor's nodes do not change. A scheduling cycle simulates usage on it
//! and rolls back; [`super::TasCache`] updates it.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Toleration;
use serde::Serialize;

use super::TasGates;
use super::leaf_capacity::{LeafCapacity, PodUsage};
use super::node_filter::{NodeFilter, NodeMatches};
use super::nodes_cache::NodeInfo;
use super::placement::DomainState;
use super::resolved_topology_request::has_levels;
use super::topology_tree::{Leaf, TopologyTree};
use crate::resources::{FlavorName, Requests};
use crate::topology_assignment::TopologyAssignment;
use crate::workload::TopologyDomainRequests;
use kueue_lab_api::v1beta2::PodSetTopologyRequest;

/// The maximum number of cached node filter results.
const MAX_MATCHES: usize = 256;

/// The topology of one flavor with its free capacity.
#[derive(Clone, Debug, Default)]
pub struct TasFlavorSnapshot {
    pub(super) flavor: FlavorName,
    pub(super) topology: Arc<str>,
    pub(super) tree: TopologyTree,
    pub(super) capacity: LeafCapacity,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) gates: TasGates,
    matches: HashMap<String, Arc<NodeMatches>>,
    pub(super) states_buffer: Vec<DomainState>,
}

/// A leaf with its capacity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafView {
    /// The values of the levels, from the highest level to the lowest.
    pub values: Vec<String>,
    /// The allocatable resources without non-TAS usage.
    pub free: Requests,
    /// The TAS usage.
    pub usage: Requests,
}

impl TasFlavorSnapshot {
    pub(super) fn new(
        flavor: FlavorName,
        topology: Arc<str>,
        tree: TopologyTree,
        tolerations: Vec<Toleration>,
        gates: TasGates,
    ) -> Self {
        TasFlavorSnapshot {
            flavor,
            topology,
            capacity: LeafCapacity::new(tree.leaf_count()),
            tree,
            tolerations,
            gates,
            ..Default::default()
        }
    }

    /// The name of the flavor's Topology.
    pub fn topology(&self) -> &str {
        &self.topology
    }

    /// The levels, from the highest to the lowest.
    pub fn levels(&self) -> &[String] {
        self.tree.levels()
    }

    /// Whether the lowest level is the hostname.
    pub(crate) fn is_lowest_level_node(&self) -> bool {
        self.tree.lowest_is_node()
    }

    /// Whether the topology has all levels of a topology request. False for a request that names no
    /// level, has no slices and is not unconstrained.
    pub(crate) fn has_level(&self, request: Option<&PodSetTopologyRequest>) -> bool {
        has_levels(&self.tree, request)
    }

    /// The leaves in the order of their names.
    pub fn leaves(&self) -> impl Iterator<Item = LeafView> + '_ {
        (0..self.tree.leaf_count()).map(|leaf| LeafView {
            values: self.tree.values(self.tree.leaf_domain(leaf), 0),
            free: self.capacity.on(leaf, true),
            usage: self.capacity.placed_on(leaf),
        })
    }

    /// Whether each domain has free capacity for its pods, checked independently. False for a
    /// domain that does not exist.
    pub fn fits(&self, usage: &[TopologyDomainRequests]) -> bool {
        usage.iter().all(|domain| {
            self.tree.leaf(&domain.values).is_some_and(|leaf| {
                let remaining = self.capacity.on(leaf, false);
                domain.single_pod_requests.count_in(&remaining) >= domain.count
            })
        })
    }

    /// Adds usage, journaled.
    pub fn add_usage(&mut self, usage: &[TopologyDomainRequests]) {
        self.simulate(usage, 1);
    }

    /// Removes usage, journaled.
    pub fn remove_usage(&mut self, usage: &[TopologyDomainRequests]) {
        self.simulate(usage, -1);
    }

    fn simulate(&mut self, usage: &[TopologyDomainRequests], sign: i64) {
        for domain in usage {
            // The domain of a workload may no longer exist.
            if let Some(leaf) = self.tree.leaf(&domain.values) {
                let load = PodUsage {
                    requests: &domain.total_requests(),
                    pods: i64::from(domain.count),
                };
                self.capacity.simulate(leaf, load, sign);
            }
        }
    }

    /// The position in the journal, for [`TasFlavorSnapshot::undo_to`].
    pub fn mark(&self) -> usize {
        self.capacity.mark()
    }

    /// Rolls back all usage added or removed since `mark`.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        self.capacity.undo_to(mark);
    }

    /// A stale domain of the assignment: its node was deleted, cordoned or is not ready.
    pub(crate) fn stale_domain<'a>(&self, assignment: &'a TopologyAssignment) -> Option<&'a str> {
        let stale = assignment
            .domains
            .iter()
            .find(|d| self.tree.leaf(&d.values).is_none())?;
        Some(stale.values.first().map_or("", String::as_str))
    }

    /// Merges two assignments, in the order of the domains' names; pods of the same domain are
    /// summed. The levels are those of the first.
    pub fn merge_assignments(
        &self,
        a: &TopologyAssignment,
        b: &TopologyAssignment,
    ) -> TopologyAssignment {
        let mut all: Vec<_> = a.domains.iter().chain(&b.domains).collect();
        // Domains that do not exist come last.
        all.sort_by_cached_key(|d| {
            let leaf = self.tree.leaf(&d.values);
            (leaf.unwrap_or(Leaf::MAX), d.values.clone())
        });
        let mut merged = TopologyAssignment {
            levels: a.levels.clone(),
            domains: Vec::with_capacity(all.len()),
        };
        for domain in all {
            match merged.domains.last_mut() {
                Some(last) if last.values == domain.values => {
                    last.count = last.count.saturating_add(domain.count);
                }
                _ => merged.domains.push(domain.clone()),
            }
        }
        merged
    }

    /// The leaves that a filter matches.
    pub(super) fn matches(&mut self, filter: &NodeFilter) -> Arc<NodeMatches> {
        if let Some(known) = self.matches.get(filter.key()) {
            return known.clone();
        }
        if self.matches.len() >= MAX_MATCHES {
            self.matches.clear();
        }
        let matches = Arc::new(filter.apply(&self.tree));
        self.matches
            .insert(filter.key().to_owned(), matches.clone());
        matches
    }

    /// Replaces a node by a newer version.
    pub(super) fn replace_node(&mut self, old: &NodeInfo, new: &Arc<NodeInfo>) {
        if let Some(leaf) = self.tree.leaf_of_node(&new.name) {
            self.capacity.add_node_capacity(leaf, &old.allocatable, -1);
            self.capacity.add_node_capacity(leaf, &new.allocatable, 1);
            self.tree.replace_node(leaf, new.clone());
            self.matches.clear();
        }
    }

    /// Replaces the tolerations.
    pub(super) fn set_tolerations(&mut self, tolerations: &[Toleration]) {
        self.tolerations = tolerations.to_vec();
    }
}
