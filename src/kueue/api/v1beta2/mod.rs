//! `kueue.x-k8s.io/v1beta2`, the stored version and the hub of all conversions: one file per kind,
//! shared parts beside them.
//!
//! Names are upstream's in snake case; the JSON equals upstream's to the field, including which
//! fields are written when empty. Strings that Go omits when empty are plain `String` here; a
//! setting with a server-side default is an `Option` with an accessor that applies the default.

mod admission_check;
mod cluster_queue;
mod cohort;
mod fair_sharing;
mod local_queue;
mod multi_kueue;
mod preemption;
mod provisioning_request_config;
mod resource_flavor;
mod resource_groups;
mod stop_policy;
mod topology;
mod workload;
mod workload_priority_class;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

pub use admission_check::*;
pub use cluster_queue::*;
pub use cohort::*;
pub use fair_sharing::*;
pub use local_queue::*;
pub use multi_kueue::*;
pub use preemption::*;
pub use provisioning_request_config::*;
pub use resource_flavor::*;
pub use resource_groups::*;
pub use stop_policy::*;
pub use topology::*;
#[cfg(test)]
pub(crate) use workload::cel_rules as workload_rules;
pub use workload::*;
pub use workload_priority_class::*;

/// The API group of Kueue.
pub const GROUP: &str = "kueue.x-k8s.io";
/// The version of this module.
pub const VERSION: &str = "v1beta2";
/// `GROUP/VERSION`.
pub const API_VERSION: &str = "kueue.x-k8s.io/v1beta2";

/// Amounts by resource name, as requests, limits and usage are written.
pub type ResourceList = BTreeMap<String, Quantity>;

/// A string that is none of an enumeration's values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown value {0:?}")]
pub struct UnknownValue(pub String);
