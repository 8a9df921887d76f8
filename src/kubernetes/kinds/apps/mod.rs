//! Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

mod common;
mod daemonset;
mod deployment;
mod int_or_percent;
mod replicaset;
mod replication_controller;
mod statefulset;
mod strategies;

pub(super) use replication_controller::REPLICATION_CONTROLLER;

pub(super) use strategies::strategy_of;
