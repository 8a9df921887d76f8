//! Topology-aware scheduling: places for pods in the hierarchy of blocks, racks and hosts.
//!
//! [`TasCache`] is told of topologies, flavors, nodes, pods and workloads that hold quota. For a
//! scheduling cycle it hands out [`TasSnapshots`], where places are searched for
//! ([`TasSnapshots::find_topology_assignments`]), checked ([`TasSnapshots::fits`]) and simulated;
//! at the end the cycle rolls back and tells the cache what came of it.
//!
//! Must not know of quota, ClusterQueues or queues.

mod assignment_encoding;
mod assumed_usage;
mod balanced_placement;
mod domain_ordering;
mod domain_usage;
mod elastic_workloads;
mod exclusion_stats;
mod failure;
mod fill_in_counts;
mod find_level_with_fit_domains;
mod find_topology_assignment;
mod label_validation;
mod leaf_capacity;
mod node_affinity_terms;
mod node_filter;
mod node_replacement;
mod nodes_cache;
mod non_tas_usage;
mod optimal_domain_set;
mod placement;
#[cfg(test)]
mod placement_tests;
mod pod_set_requests;
#[cfg(test)]
mod property_tests;
mod resolved_topology_request;
mod tas_cache;
mod tas_flavor_snapshot;
mod tas_snapshots;
mod topology_tree;
mod update_counts_to_minimum;

pub use assignment_encoding::{count_pods, encode, truncate};
pub use exclusion_stats::TasExclusionStats;
pub use failure::{LayerFit, NoFit, TasFailure};
pub use pod_set_requests::{
    FindOptions, TasAssignmentsResult, TasPodSetRequests, TasPodSetResult, WorkloadTasRequests,
};
pub use tas_cache::TasCache;
pub use tas_flavor_snapshot::{LeafView, TasFlavorSnapshot};
pub use tas_snapshots::{Checkpoint, TasSnapshots};

use super::feature_gates::Gates;

/// The feature gates that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TasGates {
    /// Unconstrained pods go where least is free.
    profile_mixed: bool,
    /// Preferred placement is balanced.
    balanced: bool,
    /// Preferred node affinity counts.
    affinity_preferred: bool,
    /// Flavors that share nodes share their usage.
    overlapping: bool,
    /// Elastic workloads keep their places.
    elastic: bool,
    /// Workloads of one plain pod are not moved off a failed node.
    skip_pod_owned: bool,
}

impl TasGates {
    fn of(gates: &Gates) -> Self {
        TasGates {
            profile_mixed: gates.tas_profile_mixed,
            balanced: gates.tas_balanced_placement,
            affinity_preferred: gates.tas_respect_node_affinity_preferred,
            overlapping: gates.tas_handle_overlapping_flavors,
            elastic: gates.elastic_jobs_via_workload_slices_with_tas,
            skip_pod_owned: gates.skip_reassignment_for_pod_owned_workloads,
        }
    }
}
