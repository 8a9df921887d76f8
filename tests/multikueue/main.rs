//! MultiKueue: a manager and worker clusters, in one process and virtual time or in processes of their own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clusters;
mod dispatch;
mod dispatchers;
mod fixture;
mod kinds;
mod lost_workers;
mod network;
mod preset;
mod worker_processes;
