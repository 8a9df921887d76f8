//! Admission webhooks: dispatch and AdmissionReview.

pub(super) mod admission_review;
pub(crate) mod dispatcher;
