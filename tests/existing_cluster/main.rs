//! The lab on a cluster that somebody else runs: an API server of our own plays that cluster, and
//! the binary is put on it as a person would.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    dead_code,
    reason = "the cluster and the binary are described once for all tests that need them"
)]

mod cleanup;
mod exec_credential_plugins;
mod external_cluster;
mod kind_and_k3d;
mod lab_lifecycle;
mod lab_process;
mod logs;
mod non_leader;
mod preflight;
mod real_nodes;
mod tcp_proxy;
mod unreachable_webhooks;
mod without_webhooks;
