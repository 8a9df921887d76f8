//! The machines from outside: nodes, scheduler and kubelet stand-in on the embedded API server,
//! through a `kube::Client`, in virtual time.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod autoscaler;
mod failures;
mod jobs;
mod nodes;
mod placement;
mod pods;
mod support;
