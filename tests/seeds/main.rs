//! Published documents that users start from, walked command by command on the embedded cluster with
//! a client as kubectl is one: one file for each document. The same for the shipped presets and their
//! comments.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod config_map_changes;
mod kubectl;
mod operator_jobs;
mod preset_samples;
mod seed_000;
mod seed_001;
mod seed_002;
mod seed_003;
mod seed_004;
mod seed_lab;
mod table;
mod workloads;
