//! The controller on the embedded API server, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod cluster_fixture;
mod concurrent_admission;
mod deployments_statefulsets_jobsets;
mod dynamic_resource_allocation;
mod failure_recovery;
mod jobs;
mod kueue_server;
mod pods;
mod ray_jobs;
mod recorded_states;
