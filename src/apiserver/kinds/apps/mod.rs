//! Deployments, replica sets, stateful sets, daemon sets and replication controllers.

mod common;
mod daemonset;
mod deployment;
mod int_or_percent;
mod replicaset;
mod statefulset;
mod strategies;

pub use replicaset::REPLICATION_CONTROLLER;

pub use strategies::strategy_of;
