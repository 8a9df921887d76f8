//! The admission engine: Kueue's scheduling semantics as a pure function.
//!
//! Input is objects and the time `now`; output is decisions with all their reasons. No tokio, no
//! Kubernetes client, no clock, no randomness, no logging. Depends on the types of
//! [`kueue_lab_api`] only.
//!
//! # Interface to topology-aware scheduling
//!
//! `tas/` computes topology assignments; all other modules call it:
//!
//! * `TasCache`: topologies, TAS flavors, nodes, and the usage of non-TAS pods. Also the usage of
//!   workloads that reserve quota, by flavor and workload, so that removing a workload is
//!   idempotent.
//! * `TasFlavorSnapshot`: the domains of one flavor with their free capacity during a cycle. Usage
//!   is added and removed as [`workload::TopologyDomainRequests`] and rolled back: a cycle
//!   simulates preemptions on it.
//! * `find_topology_assignments(requests, options)`: for the pod sets of one workload, a topology
//!   assignment per pod set or the reason why there is none. Options: simulate an empty cluster,
//!   the workload (for node replacement).
//! * `fits(usage)`: whether the domains have enough free capacity. `has_level(request)`: whether
//!   the topology has the requested levels.
//! * Conversion between the compressed topology assignment of the API and the list of domains.
//!
//! Topology requests are [`resources::Requests`] of one pod from its template, before excluded
//! resource prefixes and resource transformations, which apply to quota only.

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
pub use engine::{Engine, ObjectChange};
pub use feature_gates::Gates;
