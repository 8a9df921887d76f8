//! Admission policies in CEL.

pub(crate) mod mutating_admission_policy;
mod patch;
pub(crate) mod policy_environment;
pub(crate) mod type_checking;
pub(crate) mod validating_admission_policy;
