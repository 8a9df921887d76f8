//! Controllers that keep pods running: ReplicaSet, Deployment, StatefulSet, DaemonSet.

pub mod daemonset;
pub mod deployment;
mod history;
pub mod replicaset;
pub mod revision;
pub mod statefulset;
mod suits;
mod upkeep;
