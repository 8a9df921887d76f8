//! Defaulting and validation of jobs as plain functions: called in process on the embedded cluster,
//! over HTTPS on others.
//!
//! Kueue's own kinds are defaulted and validated by [`kueue_lab_api`]; this module has the webhooks
//! that read the state of the cluster.

mod defaults;
mod deployment;
mod dispatch;
mod job;
mod job_set;
mod kinds;
mod pod;
mod request;
mod stateful_set;
mod tas_validation;
mod validation;

pub use dispatch::JobWebhooks;
pub use kinds::{JobWebhookKind, KINDS};
pub use request::{Denial, Operation, Warnings, WebhookRequest};
