//! The Deployment controller: rolls pods of a new template out through ReplicaSets.
//!
//! [`sync_deployment`] and [`status`] decide; the controller here carries out one step at a time.

mod deployment_controller;
mod deployment_util;
mod progress;
mod recreate;
mod rolling;
mod status;
mod sync_deployment;
#[cfg(test)]
mod tests;

pub use deployment_controller::start;
