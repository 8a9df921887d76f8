//! Conversion between the versions of Kueue's kinds, on JSON. v1beta2 is the hub, v1beta1 a spoke,
//! and old alpha versions are converted to the hub. Only a ClusterQueue is also converted to
//! v1alpha2 ([`LEGACY_VERSION`]), with the fields of v1beta1, for clients that applied that
//! version.
//!
//! Fields that a version does not have are dropped, as upstream does. Values are not validated
//! here.

mod conversion;
mod json_edit;
mod queues;
mod v1alpha;
mod workload;

pub use conversion::{ConvertError, LEGACY_KIND, LEGACY_VERSION, Warning, convert};

#[cfg(test)]
mod tests;
