//! Defaulting and validation of jobs as plain functions: called in process on the embedded cluster,
//! over HTTPS on others.
//!
//! Kueue's own kinds are defaulted and validated by [`kueue_lab_api`]; this module has the webhooks
//! that read the state of the cluster.

pub(crate) mod base_webhook;
pub(crate) mod defaults;
pub(crate) mod deployment;
mod dispatch;
pub(crate) mod job;
pub(crate) mod leader_worker_set;
pub(crate) mod mutate_typed;
pub(crate) mod pod;
mod response;
pub(crate) mod stateful_set;
pub(crate) mod tas_validation;
pub(crate) mod validation;
mod webhook_name;

pub use dispatch::JobWebhooks;
pub use response::{Denial, Warnings};
pub use webhook_name::webhook_name;
