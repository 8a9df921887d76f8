//! Resource quotas: how much a namespace may have.
//!
//! What is used is counted from the objects that are there, each time, so that nothing is ever
//! charged that does not exist.

mod claims;
mod controller;
mod evaluator;
mod pods;
mod scope;
mod services;

pub use controller::needs_quota_evaluation;

pub(crate) use controller::check_request;
