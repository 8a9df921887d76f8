//! Services.

mod cluster_ips;
mod strategy;
mod validation;

pub(crate) use strategy::STRATEGY;

pub use cluster_ips::patch_allocated_values;
