//! Copies of clusters: `import`, `plan` and `simulate`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod imports;
mod owners;
mod plans;
mod presets;
mod random_cluster;
mod read_only_rights;
mod recordings;
mod simulations;
