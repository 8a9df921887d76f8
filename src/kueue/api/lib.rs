//! `kueue.x-k8s.io` and related API groups: types of every kind of the lab, with v1beta2 as the
//! hub; conversion, defaulting and validation as plain functions; the CRDs, generated from the same
//! types.
//!
//! Depends on no crate that accesses a cluster.

#[macro_use]
mod wire;

pub mod cohort_parents;
pub mod config;
pub mod constants;
pub mod convert;
pub mod crds;
pub mod explanation;
mod feature_gates;
mod go_encoding;
mod list_names;
pub mod load;
mod meta_validation;
pub mod preemption_policy;
mod problem;
pub mod provisioning_request;
#[cfg(test)]
mod schema;
pub mod v1beta2;
pub mod validation;
pub mod webhook_defaults;

pub use kueue_lab_component_helpers::conditions;
pub use kueue_lab_field as field;
pub use kueue_lab_field::name_validation;
pub use list_names::list_names;
