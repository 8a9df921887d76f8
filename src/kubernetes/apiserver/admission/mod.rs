//! Admission: built-in plugins, webhooks, and policies in CEL.
//!
//! Works on one write and on stored objects; does not depend on storage or HTTP.

mod admission_locks;
pub(crate) mod matching;
pub(crate) mod plugins;
pub(crate) mod policies;
pub(crate) mod reinvocation;
pub(crate) mod webhooks;

pub(crate) use admission_locks::{AdmissionGuard, AdmissionLocks};
