//! The cohort tree: nominal quota, usage, borrowing and lending of ClusterQueues and Cohorts.
//!
//! Computed from specs and reported usage with the engine's quota tree, so it is right for any controller.

mod build;
mod lent;
mod quota_node;
mod quota_status;
mod tree;

#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod tests;

pub(crate) use quota_node::QuotaNode;
pub(crate) use quota_status::QuotaStatus;
pub(crate) use tree::CohortTree;
