//! Controllers that keep pods running: ReplicaSet, Deployment, StatefulSet, DaemonSet.

pub mod deployment;
pub mod replicaset;
pub mod revision;
