//! Devices of dynamic resource allocation as quota: what the resource claims and device-backed
//! extended resources of a Workload count as.
//!
//! [`Devices`] keeps the DeviceClasses, ResourceClaimTemplates and ResourceSlices of the cluster;
//! [`DeviceMappings`] says which resource a class counts as. [`count`] puts both together: the
//! requests of each pod set, or why they cannot be worked out. Must not know of queues, quota or
//! flavors; nothing here allocates a device.

mod claims;
mod extended;
mod inventory;
mod mappings;
mod matching;
mod selectors;
mod sources;

#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::PodSpec;

pub use inventory::Devices;
pub use mappings::{DeviceMappings, Measure, Source};

use super::config::EngineConfig;
use super::gates::Gates;
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
pub fn count(
    wl: &Workload,
    devices: &Devices,
    config: &EngineConfig,
) -> Result<DraRequests, FieldErrors> {
    let gates = &config.gates;
    let (mappings, sets) = (&config.device_mappings, &wl.spec.pod_sets);
    let namespace = predicates::namespace(wl);
    let mut total = DraRequests::default();
    let context = Counting {
        namespace,
        devices,
        mappings,
        gates,
    };
    for (i, set) in sets.iter().enumerate() {
        total.add(&set.name, claims::of_pod_set(&context, i, set)?);
    }
    if gates.kueue_dra_integration_extended_resource {
        let mut errors = FieldErrors::new();
        for (i, set) in sets.iter().enumerate() {
            match extended::of_pod_set(&context, i, set) {
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
            Source::Counter,
            gates.kueue_dra_integration_partitionable_devices,
        ),
        (
            Source::Capacity,
            gates.kueue_dra_integration_consumable_capacity,
        ),
    ];
    for (source, on) in by_source {
        if !on || !devices.serves_slices() {
            continue;
        }
        for (i, set) in sets.iter().enumerate() {
            total.add(&set.name, sources::of_pod_set(&context, source, i, set)?);
        }
    }
    Ok(total)
}

/// What counting needs to know.
struct Counting<'a> {
    namespace: &'a str,
    devices: &'a Devices,
    mappings: &'a DeviceMappings,
    gates: &'a Gates,
}

impl Counting<'_> {
    /// How devices of a class are counted other than by their number, as far as that is turned on.
    fn measured(&self, class: &str) -> Option<Source> {
        let measured = |source| !self.mappings.measures(source, class).is_empty();
        if self.gates.kueue_dra_integration_partitionable_devices && measured(Source::Counter) {
            return Some(Source::Counter);
        }
        (self.gates.kueue_dra_integration_consumable_capacity && measured(Source::Capacity))
            .then_some(Source::Capacity)
    }
}

/// Whether a pod set names resource claims, its own or by template.
fn claims_of(set: &PodSet) -> impl Iterator<Item = (usize, &ClaimReference)> {
    let spec = set.template.spec.as_ref();
    let claims = spec.and_then(|s| s.resource_claims.as_ref());
    claims.into_iter().flatten().enumerate()
}

type ClaimReference = k8s_openapi::api::core::v1::PodResourceClaim;

/// Whether some pod uses a resource claim by name, which cannot be counted: others may use it too.
pub fn names_claims(wl: &Workload) -> bool {
    let mut claims = wl.spec.pod_sets.iter().flat_map(claims_of);
    claims.any(|(_, claim)| claim.resource_claim_name.is_some())
}

/// Whether some pod uses resource claims.
pub fn has_claims(wl: &Workload) -> bool {
    let mut claims = wl.spec.pod_sets.iter().flat_map(claims_of);
    claims.any(|(_, claim)| {
        claim.resource_claim_name.is_some() || claim.resource_claim_template_name.is_some()
    })
}

/// Whether some container requests this extended resource.
pub fn requests_extended(wl: &Workload, resource: &str) -> bool {
    extended_names(wl).any(|name| name == resource)
}

/// The extended resources that containers request, repeatedly.
fn extended_names(wl: &Workload) -> impl Iterator<Item = &str> {
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
pub fn concern(wl: &Workload, devices: &Devices, gates: &Gates) -> bool {
    if predicates::is_on_hold(wl) {
        return false;
    }
    if !gates.kueue_dra_integration {
        return gates.kueue_dra_reject_workloads_when_dra_disabled && has_claims(wl);
    }
    has_claims(wl)
        || (gates.kueue_dra_integration_extended_resource
            && devices.has_extended()
            && extended_names(wl).any(|name| devices.stands_behind(name)))
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
