//! The cohort tree: nominal quota, usage, borrowing and lending of ClusterQueues and Cohorts.
//!
//! Computed from specs and reported usage only, so it is right for any controller.

mod build;
mod quota;
mod quota_node;
mod resource_node;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use quota::{Quota, QuotaStatus};
pub(crate) use quota_node::QuotaNode;
pub(crate) use tree::CohortTree;
