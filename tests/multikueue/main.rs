//! MultiKueue: a manager and worker clusters, in one process and virtual time or in processes of their own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster_profiles;
mod clusters;
mod deletion;
mod devices;
mod dispatch;
mod dispatchers;
mod elastic_jobs;
mod existing_workers;
mod external_frameworks;
mod fixture;
mod host_access;
mod kinds;
mod kubeconfig_files;
mod lost_workers;
mod network;
mod objects;
mod other_checks;
mod placement;
mod pods;
mod preemption;
mod preset;
mod shared_clusters;
mod worker_processes;
