//! The controllers of `apps/v1`: ReplicaSet, Deployment, StatefulSet, DaemonSet.

mod controller_history;
pub(crate) mod daemonset;
mod daemonset_node_predicate;
pub(crate) mod deployment;
mod reconciler;
pub(crate) mod replicaset;
pub(crate) mod statefulset;
