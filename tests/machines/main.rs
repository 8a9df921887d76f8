//! The machines from outside: nodes, scheduler and kubelet stand-in on the embedded API server,
//! through a `kube::Client`, in virtual time.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod autoscaler;
mod cluster_fixture;
mod jobs;
mod node_failures;
mod nodes;
mod pods;
mod scheduling;
