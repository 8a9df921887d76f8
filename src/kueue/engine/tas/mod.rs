//! Topology-aware scheduling (TAS): assigns pods to topology domains such as blocks, racks and
//! hosts.
//!
//! [`TasCache`] tracks Topologies, TAS flavors, Nodes, Pods and the usage of workloads that reserve
//! quota. Its [`TasSnapshots`] serve a scheduling cycle, which finds assignments
//! ([`TasSnapshots::find_topology_assignments`]), checks ([`TasSnapshots::fits`]) and simulates
//! usage; at the end of the cycle everything is rolled back.
//!
//! Must not depend on quota, ClusterQueues or queues.

mod assignment_encoding;
mod assumed_usage;
mod balanced_placement;
mod domain_ordering;
mod domain_usage;
mod elastic_workloads;
mod fill_in_counts;
mod find_level_with_fit_domains;
mod find_topology_assignment;
mod leaf_capacity;
mod node_affinity_text;
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
mod tas_gates;
mod tas_snapshots;
mod topology_tree;
mod update_counts_to_minimum;

pub use assignment_encoding::{count_pods, encode, truncate};
pub use pod_set_requests::{
    FindOptions, TasAssignmentsResult, TasPodSetRequests, TasPodSetResult, WorkloadTasRequests,
};
pub use tas_cache::TasCache;
pub use tas_flavor_snapshot::{LeafView, TasFlavorSnapshot};
use tas_gates::TasGates;
pub use tas_snapshots::{Checkpoint, TasSnapshots};
