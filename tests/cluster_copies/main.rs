//! Copies of clusters: `import` and `plan`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "random clusters have more uses than tests")]

mod plans;
mod random_cluster;
mod read_only_rights;
