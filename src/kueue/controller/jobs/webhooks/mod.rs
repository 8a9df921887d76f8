//! Defaulting and validation of jobs as plain functions: called in process on the embedded cluster,
//! over HTTPS on others.
//!
//! Kueue's own kinds are defaulted and validated by [`kueue_lab_api`]; this module has the webhooks
//! that read the state of the cluster.

pub(crate) mod base_webhook;
pub(crate) mod defaults;
mod deployment;
mod dispatch;
pub(crate) mod job;
mod kinds;
mod leader_worker_set;
pub(crate) mod mutate_typed;
mod pod;
mod response;
mod stateful_set;
pub(crate) mod tas_validation;
pub(crate) mod validation;

pub use dispatch::JobWebhooks;
pub use kinds::{is_serving, webhook_name};
pub use response::{Denial, Warnings};
