//! Kueue on an existing cluster: CRDs, webhooks over HTTPS, certificates, uninstallation. The cluster is
//! the embedded API server with a control plane and no in-process plugins.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster_fixture;
mod commands;
mod controller;
mod explanations;
mod install_uninstall;
mod instances;
mod rbac;
