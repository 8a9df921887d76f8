//! The lab on an existing cluster: the binary on an API server with a control plane in the test process.

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
mod objects_of_others;
mod preflight;
mod real_nodes;
mod tcp_proxy;
mod unreachable_webhooks;
mod without_webhooks;
