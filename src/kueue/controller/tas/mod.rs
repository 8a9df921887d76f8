//! Topology-aware scheduling outside the scheduler: the topology ungater and the node failure
//! controller.

mod assign_pods_to_domains;
mod node_failure_controller;
mod pods;
mod start_controllers;
mod topology_ungater;

pub(super) use start_controllers::start;
