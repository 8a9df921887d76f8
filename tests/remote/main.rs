//! The lab on a cluster that somebody else runs: an API server of our own plays that cluster, and
//! the binary is put on it as a person would.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    dead_code,
    reason = "the cluster and the binary are described once for all tests that need them"
)]

mod binary;
mod cluster;
mod credentials;
mod leftovers;
mod logs;
mod real_nodes;
mod refusals;
mod resting;
mod running;
mod tools;
mod unreached;
mod wire;
mod without_webhooks;
