//! The validation of upstream's webhooks as plain functions: the same rules, paths and messages.
//!
//! The API server checks the schema and the CEL rules of the CRDs in addition.

mod admission_gated_by;
mod cluster_queue;
mod cohort;
mod resource_flavor;
mod resource_groups;
mod semantic_equality;
mod validating_webhook;
mod workload;
mod workload_update;

pub use crate::meta_validation::label_name;
pub use admission_gated_by::{admission_gated_by, admission_gated_by_update};
pub use cluster_queue::{cluster_queue, cluster_queue_update};
pub use cohort::cohort;
pub(crate) use resource_flavor::resource_flavor;
pub use semantic_equality::deep_equal as semantically_equal;
pub use validating_webhook::{create, update, webhook_name};
pub use workload::workload;
pub use workload_update::workload_update;

#[cfg(test)]
mod tests;
