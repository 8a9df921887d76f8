//! Topology-aware scheduling: places for pods in the hierarchy of blocks, racks and hosts.
//!
//! [`TasCache`] is told of topologies, flavors, nodes, pods and workloads that hold quota. For a
//! scheduling cycle it hands out [`TasSnapshots`], where places are searched for
//! ([`TasSnapshots::find_topology_assignments`]), checked ([`TasSnapshots::fits`]) and simulated;
//! at the end the cycle rolls back and tells the cache what came of it.
//!
//! Must not know of quota, ClusterQueues or queues.

mod affinity;
mod assignment;
mod balanced;
mod cache;
mod capacity;
mod counts;
mod descend;
mod elastic;
mod exclusions;
mod failure;
mod find;
mod fit;
#[cfg(test)]
mod inner_tests;
mod label_rules;
#[cfg(test)]
mod laws;
mod ledger;
mod node_filter;
mod nodes;
mod order;
mod placement;
mod pods;
mod replacement;
mod request;
mod shape;
mod snapshot;
mod snapshots;
mod subset;
mod tree;
mod usage;

pub use assignment::{count_pods, encode, truncate};
pub use cache::TasCache;
pub use exclusions::Exclusions;
pub use failure::{LayerFit, NoFit, TasFailure};
pub use request::{
    FindOptions, TasAssignmentsResult, TasPodSetRequests, TasPodSetResult, WorkloadTasRequests,
};
pub use snapshot::{LeafView, TasFlavorSnapshot};
pub use snapshots::{Checkpoint, TasSnapshots};

use super::gates::Gates;

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
