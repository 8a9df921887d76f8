//! `up --data-dir`, `export` and `up --from`: the binary as a process that is killed and started again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    dead_code,
    reason = "the binary is described once for all tests that need it"
)]

mod early_kills;
mod exports;
mod full_disk;
mod kills;
#[path = "../existing_cluster/lab_process.rs"]
mod lab_process;
mod requests;
mod restarts;
mod without_controllers;
