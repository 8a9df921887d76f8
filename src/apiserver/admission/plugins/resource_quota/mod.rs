//! Resource quotas: how much a namespace may have.
//!
//! What is used is counted from the objects that are there, each time, so that nothing is ever
//! charged that does not exist.

mod controller;
mod evaluator;
mod persistent_volume_claims;
mod pods;
mod resource_claims;
mod scope;
mod services;

pub use controller::needs_quota_evaluation;

pub(crate) use controller::check_request;
