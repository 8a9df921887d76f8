//! Published documents that users start from, walked command by command on the embedded cluster with
//! a client as kubectl is one. One file for each document.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod config_map_changes;
mod kubectl;
mod operator_jobs;
mod seed_000;
mod seed_002;
mod seed_003;
mod seed_lab;
