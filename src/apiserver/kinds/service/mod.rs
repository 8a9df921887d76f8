//! Services.

mod cluster_ips;
mod strategy;
mod validation;

pub(crate) use strategy::STRATEGY;

pub(crate) use cluster_ips::patch_allocated_values;
