//! Nodes, scheduler and kubelets on the embedded API server, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test that fails reports its position")]

mod autoscaler;
mod cluster_fixture;
mod counts;
mod jobs;
mod node_failures;
mod nodes;
mod operator_subject;
mod operator_warnings;
mod operators;
mod operators_of_pods;
mod pods;
mod resource_claims;
mod scheduling;
mod streams;
