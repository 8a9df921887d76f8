//! Devices of dynamic resource allocation as quota: what the resource claims and device-backed
//! extended resources of a Workload count as.
//!
//! [`DraCache`] keeps the DeviceClasses, ResourceClaimTemplates and ResourceSlices of the cluster;
//! [`DeviceClassMappings`] says which resource a class counts as. [`count`] puts both together: the
//! requests of each pod set, or why they cannot be worked out. Must not know of queues, quota or
//! flavors; nothing here allocates a device.

mod cel_selectors;
mod claims;
mod counters_and_capacity;
mod device_class_mappings;
mod device_matching;
mod dra_cache;
mod extended_resources;

#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::PodSpec;

pub use device_class_mappings::{DeviceClassMappings, DeviceSource, DeviceSourceConfig};
pub use dra_cache::DraCache;

use super::config::EngineConfig;
use super::feature_gates::Gates;
use super::resources::{Decimal, ResourceList};
use super::workload::DraRequests;
use super::workload::predicates;
use kueue_lab_api::field::{FieldErrors, Path};
use kueue_lab_api::v1beta2::{PodSet, Workload};

/// What the devices of a Workload with effective requests count as.
///
/// # Errors
/// Of a claim or extended resource that cannot be counted. Internal ones may go away by
/// themselves, when a template, class or slice appears; all others stay until the Workload or a
/// class changes.
pub fn resource_requests_for_workload(
    wl: &Workload,
    devices: &DraCache,
    config: &EngineConfig,
) -> Result<DraRequests, FieldErrors> {
    let gates = &config.gates;
    let (mappings, sets) = (&config.device_class_mappings, &wl.spec.pod_sets);
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

/// What counting needs to know.
struct DraContext<'a> {
    namespace: &'a str,
    devices: &'a DraCache,
    mappings: &'a DeviceClassMappings,
    gates: &'a Gates,
}

impl DraContext<'_> {
    /// How devices of a class are counted other than by their number, as far as that is turned on.
    fn device_source(&self, class: &str) -> Option<DeviceSource> {
        let measured = |source| !self.mappings.source_configs(source, class).is_empty();
        if self.gates.kueue_dra_integration_partitionable_devices && measured(DeviceSource::Counter)
        {
            return Some(DeviceSource::Counter);
        }
        (self.gates.kueue_dra_integration_consumable_capacity && measured(DeviceSource::Capacity))
            .then_some(DeviceSource::Capacity)
    }
}

/// Whether a pod set names resource claims, its own or by template.
fn pod_resource_claims(set: &PodSet) -> impl Iterator<Item = (usize, &ClaimReference)> {
    let spec = set.template.spec.as_ref();
    let claims = spec.and_then(|s| s.resource_claims.as_ref());
    claims.into_iter().flatten().enumerate()
}

type ClaimReference = k8s_openapi::api::core::v1::PodResourceClaim;

/// Whether some pod uses a resource claim by name, which cannot be counted: others may use it too.
pub fn has_resource_claims(wl: &Workload) -> bool {
    let mut claims = wl.spec.pod_sets.iter().flat_map(pod_resource_claims);
    claims.any(|(_, claim)| claim.resource_claim_name.is_some())
}

/// Whether some pod uses resource claims.
pub fn has_dra(wl: &Workload) -> bool {
    let mut claims = wl.spec.pod_sets.iter().flat_map(pod_resource_claims);
    claims.any(|(_, claim)| {
        claim.resource_claim_name.is_some() || claim.resource_claim_template_name.is_some()
    })
}

/// Whether some container requests this extended resource.
pub fn requests_extended_resource(wl: &Workload, resource: &str) -> bool {
    extended_resource_names(wl).any(|name| name == resource)
}

/// The extended resources that containers request, repeatedly.
fn extended_resource_names(wl: &Workload) -> impl Iterator<Item = &str> {
    let specs = wl.spec.pod_sets.iter();
    let specs = specs.filter_map(|set| set.template.spec.as_ref());
    let lists = specs.flat_map(|spec: &PodSpec| {
        let inits = spec.init_containers.iter().flatten();
        let containers = inits.chain(&spec.containers);
        containers.filter_map(|c| c.resources.as_ref()?.requests.as_ref())
    });
    lists
        .flatten()
        .filter(|(name, quantity)| is_extended(name) && !Decimal::parse_lossy(quantity).is_zero())
        .map(|(name, _)| name.as_str())
}

/// Whether a resource is an extended one: of a domain, and not of Kubernetes itself.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.starts_with("kubernetes.io/") && !name.starts_with("hugepages-")
}

/// Whether the requests of a Workload have to be counted before it is queued.
pub fn needs_dra_reconcile(wl: &Workload, devices: &DraCache, gates: &Gates) -> bool {
    if predicates::is_on_hold(wl) {
        return false;
    }
    if !gates.kueue_dra_integration {
        return gates.kueue_dra_reject_workloads_when_dra_disabled && has_dra(wl);
    }
    has_dra(wl)
        || (gates.kueue_dra_integration_extended_resource
            && devices.has_extended_resources()
            && extended_resource_names(wl).any(|name| devices.has_extended_resource(name)))
}

/// `spec.podSets[i].template.spec`.
fn pod_path(pod_set: usize) -> Path {
    let sets = Path::new("spec").child("podSets").index(pod_set);
    sets.child("template").child("spec")
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

/// Adds to one resource of a list.
fn merge(list: &mut ResourceList, name: &str, more: Decimal) {
    let sum = list.get(name).map_or(Decimal::ZERO, Decimal::parse_lossy);
    let sum = sum.plus(more).to_decimal_si();
    list.insert(
        name.to_owned(),
        k8s_openapi::apimachinery::pkg::api::resource::Quantity(sum),
    );
}
