//! Kueue's webhooks as a cluster calls them: AdmissionReview and ConversionReview over HTTPS.
//!
//! What is answered is decided elsewhere, by plain functions: [`kueue_lab_api`] for Kueue's own kinds,
//! [`kueue_lab_controller::webhook`] for jobs. [`AdmissionHandler`] brings both together; the embedded API server
//! asks it in-process, every other one through [`WebhookServer`]. [`table`] says which writes are asked
//! about, for whoever registers the webhooks.
//!
//! Must not know how webhooks get registered or on which cluster they are.

mod admission_handler;
mod admission_review;
pub mod certificates;
mod conversion_review;
pub mod kueue_kinds;
pub mod webhook_definitions;
mod webhook_server;

pub use admission_handler::{AdmissionHandler, WebhookError};
pub use certificates::{ServingCertificate, Validity};
pub use webhook_server::{CONVERT, MUTATE, ServerError, VALIDATE, WebhookServer};
