//! [`DraRequestInputs`]: what the device requests of a Workload are counted from.

use std::sync::Arc;

use super::dra_cache::DraCache;
use super::resource_requests::resource_requests_for_workload;
use crate::device_class_mappings::DeviceClassMappings;
use crate::feature_gates::Gates;
use crate::workload::DraRequests;
use kueue_lab_api::field::FieldErrors;
use kueue_lab_api::v1beta2::Workload;

/// What the device requests of a Workload are counted from, at one time. Counting needs no engine:
/// it evaluates the CEL selectors of devices, which can be expensive.
#[derive(Clone, Debug)]
pub struct DraRequestInputs {
    /// The adjusted Workload.
    pub(crate) workload: Arc<Workload>,
    pub(crate) devices: Arc<DraCache>,
    pub(crate) mappings: DeviceClassMappings,
    pub(crate) gates: Gates,
}

impl DraRequestInputs {
    /// The resource requests of the devices; none without devices.
    ///
    /// # Errors
    /// Of requests that cannot be resolved.
    pub fn count(&self) -> Result<Option<DraRequests>, FieldErrors> {
        let Self {
            workload,
            devices,
            mappings,
            gates,
        } = self;
        let counted = resource_requests_for_workload(workload, devices, mappings, gates)?;
        Ok((counted != DraRequests::default()).then_some(counted))
    }
}
