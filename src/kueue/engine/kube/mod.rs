//! Kubernetes rules that admission applies: pod requests, taints and tolerations, node affinity,
//! label selectors, LimitRanges.
//!
//! Must not depend on Kueue.

pub mod label_selector;
pub mod limit_range;
pub mod node_affinity;
pub mod pod_requests;
pub(crate) mod requirement_operator;
pub mod taints;
