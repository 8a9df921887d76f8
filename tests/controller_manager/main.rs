//! The built-in controllers on the embedded API server, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster_fixture;
mod deployments;
mod garbage_collection;
mod jobs;
mod other_controllers;
mod statefulsets_daemonsets_cronjobs;
