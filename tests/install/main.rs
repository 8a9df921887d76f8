//! Kueue in a cluster that is not ours: kinds, webhooks over HTTPS, certificates, and the way back.
//! The cluster is the embedded API server with a control plane of its own and nothing plugged in.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster_fixture;
mod commands;
mod controller;
mod install_uninstall;
mod instances;
mod rbac;
