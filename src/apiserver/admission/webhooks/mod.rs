//! Admission webhooks: one call of one webhook, and its AdmissionReview.

pub(super) mod admission_review;
pub mod dispatcher;
