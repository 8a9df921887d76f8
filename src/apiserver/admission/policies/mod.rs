//! Admission policies in CEL.

pub(crate) mod validating_admission_policy;
