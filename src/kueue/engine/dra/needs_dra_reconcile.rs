//! Whether the device requests of a Workload are resolved before it is queued.

use k8s_openapi::api::core::v1::{PodResourceClaim, PodSpec};

use super::dra_cache::DraCache;
use crate::feature_gates::Gates;
use crate::resources::Decimal;
use crate::workload::predicates;
use kueue_lab_api::v1beta2::{PodSet, Workload};

/// The message of a Workload with devices while dynamic resource allocation is disabled.
pub const GATE_DISABLED: &str =
    "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled";
/// The message of a Workload whose pods reference ResourceClaims by name.
pub const RESOURCE_CLAIMS_NOT_SUPPORTED: &str =
    "KueueDRAIntegration feature does not support use of resource claims";

/// Whether any pod references a ResourceClaim by name, which is not supported: it may be shared.
pub fn has_resource_claims(wl: &Workload) -> bool {
    let mut claims = wl.spec.pod_sets.iter().flat_map(pod_resource_claims);
    claims.any(|(_, claim)| claim.resource_claim_name.is_some())
}

/// Whether any pod uses resource claims.
pub fn has_dra(wl: &Workload) -> bool {
    let mut claims = wl.spec.pod_sets.iter().flat_map(pod_resource_claims);
    claims.any(|(_, claim)| {
        claim.resource_claim_name.is_some() || claim.resource_claim_template_name.is_some()
    })
}

/// Whether any container requests an extended resource.
pub fn requests_extended_resource(wl: &Workload, resource: &str) -> bool {
    extended_resource_names(wl).any(|name| name == resource)
}

/// Whether the device requests of a Workload are resolved before it is queued.
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

/// The resource claims of a pod set, with their index.
pub(super) fn pod_resource_claims(
    set: &PodSet,
) -> impl Iterator<Item = (usize, &PodResourceClaim)> {
    let spec = set.template.spec.as_ref();
    let claims = spec.and_then(|s| s.resource_claims.as_ref());
    claims.into_iter().flatten().enumerate()
}

/// The extended resources that containers request, with duplicates.
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

/// Whether a resource is an extended resource: it has a domain other than `kubernetes.io`.
pub(super) fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.starts_with("kubernetes.io/") && !name.starts_with("hugepages-")
}
