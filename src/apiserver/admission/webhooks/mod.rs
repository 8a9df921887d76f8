//! Admission that objects in the cluster configure: webhooks and policies in CEL.
//!
//! Works on one write and on configurations as they are stored; must not know storage or HTTP as
//! clients speak it. The handlers bring writes here after what is built in and what is plugged in.

pub(super) mod admission_review;
pub mod dispatcher;
