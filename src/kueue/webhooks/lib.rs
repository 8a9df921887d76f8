//! Kueue's webhook server: AdmissionReview and ConversionReview over HTTPS.
//!
//! The rules are plain functions: [`kueue_lab_api`] has those of Kueue's own kinds,
//! [`kueue_lab_controller::jobs::webhooks`] those of jobs. [`AdmissionHandler`] dispatches to both;
//! the embedded API server calls it in process, other clusters call [`WebhookServer`].
//! [`webhook_definitions`] lists the webhooks to register.
//!
//! Registration of the webhooks is in the `install` crate.

mod admission_handler;
mod admission_review;
mod body_budget;
pub mod certificates;
mod conversion_review;
pub mod kueue_kinds;
pub mod webhook_definitions;
mod webhook_server;

pub use admission_handler::{AdmissionHandler, WebhookError};
pub use certificates::{CertificateBundle, CertificateLifetimes, ServingCertificate, Validity};
pub use webhook_server::{CONVERT, MUTATE, ServerError, VALIDATE, WebhookServer};
