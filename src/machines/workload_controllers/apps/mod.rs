//! The controllers of `apps/v1`: ReplicaSet, Deployment, StatefulSet, DaemonSet.

mod controller_history;
pub mod daemonset;
mod daemonset_node_predicate;
pub mod deployment;
mod reconciler;
pub mod replicaset;
pub mod statefulset;
pub mod template_hash;
