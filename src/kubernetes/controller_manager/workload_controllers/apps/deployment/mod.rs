//! The Deployment controller: rolls out new pod templates through ReplicaSets.
//!
//! [`sync_deployment`] and [`status`] compute a plan; [`deployment_controller`] carries it out.

mod deployment_controller;
mod deployment_util;
mod progress;
mod recreate;
mod rolling;
mod status;
mod sync_deployment;

#[cfg(test)]
mod tests;

pub(crate) use deployment_controller::start;
