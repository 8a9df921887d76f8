//! Rules of Kubernetes in the amounts and reasons of the engine: pod requests, taints, LimitRanges.
//!
//! Must not depend on Kueue.

pub mod limit_range;
pub mod pod_requests;
pub mod taints;
