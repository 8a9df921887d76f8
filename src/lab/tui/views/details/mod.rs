//! The details of rows, written to a page.

pub(super) mod event;
pub(super) mod eviction;
pub(super) mod managed_job;
pub(super) mod node;
pub(super) mod preset;
pub(super) mod queue;
mod quota_arithmetic;
mod topology_assignment;
pub(super) mod workload;
