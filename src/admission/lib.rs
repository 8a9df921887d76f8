//! The admission engine: Kueue's scheduling semantics as a pure function.
//!
//! Objects and a `now` go in, decisions with their whole reason come out. No tokio, no kube client,
//! no clock, no randomness, no logging. Knows [`kueue_lab_api`] types and nothing else.
//!
//! # The seam with topology-aware scheduling
//!
//! `tas/` places pods on topology domains; everything else here only calls it:
//!
//! * `TasCache`: topologies, the flavors that name one, nodes, and the usage of pods outside of
//!   topology-aware scheduling. It also keeps the usage of workloads that hold quota, per flavor
//!   and workload, so that taking a workload out twice does no harm.
//! * `TasFlavorSnapshot`: one flavor's domains with their free capacity for the length of a cycle.
//!   Usage is added and removed as [`topology::TopologyDomainRequests`] and can be undone: the
//!   cycle tries preemptions on it and puts everything back.
//! * `find_topology_assignments(requests, options)`: for the pod sets of one workload on one
//!   flavor together, a topology assignment per pod set or the text of why there is none. Options
//!   are: as if the cluster were empty, the workload (for node replacement), and what sibling
//!   flavors of the same workload already took of shared nodes.
//! * `workload_fits(usage)`: whether these domains still have room. `has_level(request)`: whether the
//!   topology has the levels a pod set asks for.
//! * Conversions between the compressed assignment of the API and the internal list of domains.
//!
//! Requests are [`resources::Requests`] of one pod, never scaled by the quota rules (excluded
//! prefixes, transformations), because nodes know nothing of those.

pub mod afs;
pub mod cache;
pub mod cluster_objects;
pub mod concurrent_admission;
pub mod config;
pub mod cycle;
mod device_class_mappings;
pub mod dra;
pub mod engine;
mod fair_weight;
pub mod feature_gates;
pub mod flavor_assigner;
pub mod hash_map;
mod heap;
pub mod kube;
pub mod messages;
pub mod preemption;
pub mod queue;
pub mod resources;
pub mod snapshot_transaction;
pub mod status;
pub mod tas;
pub mod topology_assignment;
mod truncate;
pub mod workload;
pub mod workload_slicing;

pub use config::EngineConfig;
pub use engine::Engine;
pub use feature_gates::Gates;
