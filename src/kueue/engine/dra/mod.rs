//! Dynamic resource allocation: the quota that the resource claims and device-backed extended
//! resources of a Workload request.
//!
//! [`DraCache`] holds the DeviceClasses, ResourceClaimTemplates and ResourceSlices;
//! [`DeviceClassMappings`] maps device classes to resources. [`DraRequestInputs`] resolves the
//! requests of each pod set. Must not depend on queues, quota or flavors; nothing here
//! allocates devices.

mod cel_selectors;
mod claims;
mod counters_and_capacity;
mod device_matching;
mod dra_cache;
mod dra_request_inputs;
mod extended_resources;
mod needs_dra_reconcile;
mod resource_requests;

#[cfg(test)]
mod tests;

pub use crate::device_class_mappings::{DeviceClassMappings, DeviceSource, DeviceSourceConfig};
pub use dra_cache::DraCache;
pub use dra_request_inputs::DraRequestInputs;
pub use needs_dra_reconcile::{
    GATE_DISABLED, RESOURCE_CLAIMS_NOT_SUPPORTED, has_dra, has_resource_claims,
    needs_dra_reconcile, requests_extended_resource,
};
use needs_dra_reconcile::{is_extended, pod_resource_claims};
use resource_requests::{DraContext, merge, pod_path};
