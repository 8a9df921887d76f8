//! Defaulting and validation of jobs as they come in, as plain functions: in-process on the embedded
//! cluster, over HTTPS on a real one.
//!
//! Kueue's own kinds are defaulted and validated by [`kueue_lab_api`] alone; this is for what needs to
//! know the cluster. Must not know who asks.

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
