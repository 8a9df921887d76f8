//! The Pods of a cluster, as SkyPilot 0.14.1 creates them.

mod affinity;
mod builder;

pub(super) use builder::PodBuilder;

#[cfg(test)]
mod tests;
