//! Rules of Kubernetes itself that admission applies: what a pod requests, taints and tolerations,
//! node affinity, label selectors, limit ranges.
//!
//! Must not know of Kueue.

pub mod affinity;
pub mod limits;
pub mod pod_requests;
pub mod selector;
pub mod taints;
