//! Resolves the resource requests of the devices of a Workload.

use super::claims;
use super::counters_and_capacity;
use super::dra_cache::DraCache;
use super::extended_resources;
use crate::device_class_mappings::{DeviceClassMappings, DeviceSource};
use crate::feature_gates::Gates;
use crate::resources::{Decimal, ResourceList};
use crate::workload::{DraRequests, predicates};
use kueue_lab_api::field::{FieldErrors, Path};
use kueue_lab_api::v1beta2::Workload;

/// The resource requests of the devices of an adjusted Workload.
///
/// # Errors
/// Of a claim or extended resource that cannot be resolved. Internal errors are transient, until a
/// template, class or slice is added; all others are permanent.
pub(crate) fn resource_requests_for_workload(
    wl: &Workload,
    devices: &DraCache,
    mappings: &DeviceClassMappings,
    gates: &Gates,
) -> Result<DraRequests, FieldErrors> {
    let sets = &wl.spec.pod_sets;
    let namespace = predicates::namespace(wl);
    let mut total = DraRequests::default();
    let context = DraContext {
        namespace,
        devices,
        mappings,
        gates,
    };
    for (i, set) in sets.iter().enumerate() {
        total.add(
            &set.name,
            claims::claim_requests_for_pod_set(&context, i, set)?,
        );
    }
    if gates.kueue_dra_integration_extended_resource {
        let mut errors = FieldErrors::new();
        for (i, set) in sets.iter().enumerate() {
            match extended_resources::resolve_extended_resource_quota(&context, i, set) {
                Ok(found) => {
                    total.add(&set.name, found.counted);
                    if !found.replaced.is_empty() {
                        total.replaced.insert(set.name.clone(), found.replaced);
                    }
                }
                Err(more) => errors.extend(more),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
    }
    let by_source = [
        (
            DeviceSource::Counter,
            gates.kueue_dra_integration_partitionable_devices,
        ),
        (
            DeviceSource::Capacity,
            gates.kueue_dra_integration_consumable_capacity,
        ),
    ];
    for (source, on) in by_source {
        if !on || !devices.resource_slices_available() {
            continue;
        }
        for (i, set) in sets.iter().enumerate() {
            total.add(
                &set.name,
                counters_and_capacity::source_requests_for_pod_set(&context, source, i, set)?,
            );
        }
    }
    Ok(total)
}

/// The context of resolving device requests.
pub(super) struct DraContext<'a> {
    pub(super) namespace: &'a str,
    pub(super) devices: &'a DraCache,
    pub(super) mappings: &'a DeviceClassMappings,
    pub(super) gates: &'a Gates,
}

impl DraContext<'_> {
    /// The enabled source by which devices of a class count, if not by their number.
    pub(super) fn device_source(&self, class: &str) -> Option<DeviceSource> {
        let measured = |source| !self.mappings.source_configs(source, class).is_empty();
        if self.gates.kueue_dra_integration_partitionable_devices && measured(DeviceSource::Counter)
        {
            return Some(DeviceSource::Counter);
        }
        (self.gates.kueue_dra_integration_consumable_capacity && measured(DeviceSource::Capacity))
            .then_some(DeviceSource::Capacity)
    }
}

impl DraRequests {
    /// Adds to the requests of a pod set.
    fn add(&mut self, pod_set: &str, more: ResourceList) {
        if more.is_empty() {
            return;
        }
        let sums = self.added.entry(pod_set.to_owned()).or_default();
        for (name, quantity) in more {
            merge(sums, &name, Decimal::parse_lossy(&quantity));
        }
    }
}

/// `spec.podSets[i].template.spec`.
pub(super) fn pod_path(pod_set: usize) -> Path {
    let sets = Path::new("spec").child("podSets").index(pod_set);
    sets.child("template").child("spec")
}

/// Adds to one resource of a list.
pub(super) fn merge(list: &mut ResourceList, name: &str, more: Decimal) {
    let sum = list.get(name).map_or(Decimal::ZERO, Decimal::parse_lossy);
    let sum = sum.plus(more).to_decimal_si();
    list.insert(
        name.to_owned(),
        k8s_openapi::apimachinery::pkg::api::resource::Quantity(sum),
    );
}
