//! Kueue's webhooks as a cluster calls them: AdmissionReview and ConversionReview over HTTPS.
//!
//! What is answered is decided elsewhere, by plain functions: [`kueue_lab_api`] for Kueue's own kinds,
//! [`kueue_lab_controller::webhook`] for jobs. [`Policy`] brings both together; the embedded API server
//! asks it in-process, every other one through [`Server`]. [`table`] says which writes are asked
//! about, for whoever registers the webhooks.
//!
//! Must not know how webhooks get registered or on which cluster they are.

pub mod certificates;
mod conversion;
pub mod kinds;
mod policy;
mod review;
mod server;
pub mod table;

pub use certificates::{Certificates, Validity};
pub use policy::{Fault, Policy};
pub use server::{CONVERT, MUTATE, Server, ServerError, VALIDATE};
