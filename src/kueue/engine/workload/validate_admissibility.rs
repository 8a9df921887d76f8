//! Reasons that a Workload is inadmissible regardless of quota: namespace, requests above limits,
//! LimitRanges.

use std::fmt;

use super::predicates::namespace;
use crate::cluster_objects::ClusterObjects;
use crate::kube::limit_range::{aggregate, requests_above_limits};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_component_helpers::label_selector::Selector;
use kueue_lab_reason::InadmissibleCause;

/// Containers of the Workload whose requests exceed their limits.
pub fn validate_resources(wl: &Workload) -> Vec<String> {
    pod_specs(wl)
        .flat_map(|(path, spec)| requests_above_limits(spec, path))
        .collect()
}

/// Violations of the LimitRanges of the namespace.
pub fn validate_limit_range(wl: &Workload, cluster_objects: &ClusterObjects) -> Vec<String> {
    let Some(limits) = cluster_objects.limit_range_summary(namespace(wl)) else {
        return Vec::new();
    };
    pod_specs(wl)
        .flat_map(|(path, spec)| limits.violations(spec, path))
        .collect()
}

/// The field path of a pod set's pod spec, by index; formatted on demand.
#[derive(Clone, Copy)]
struct SpecPath(usize);

impl fmt::Display for SpecPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spec.podSets[{}].template.spec", self.0)
    }
}

fn pod_specs(
    wl: &Workload,
) -> impl Iterator<Item = (SpecPath, &k8s_openapi::api::core::v1::PodSpec)> {
    let pod_sets = wl.spec.pod_sets.iter().enumerate();
    pod_sets.filter_map(|(i, ps)| Some((SpecPath(i), ps.template.spec.as_ref()?)))
}

/// Validates a Workload against its namespace, resources, and the namespace selector of a
/// ClusterQueue.
///
/// # Errors
/// When it is inadmissible regardless of quota.
pub fn validate_admissibility(
    wl: &Workload,
    selector: &Selector,
    cluster_objects: &ClusterObjects,
) -> Result<(), InadmissibleCause> {
    let ns = namespace(wl);
    let labels =
        cluster_objects
            .namespace(ns)
            .ok_or_else(|| InadmissibleCause::NamespaceNotFound {
                name: ns.to_owned(),
            })?;
    if !selector.matches(labels) {
        return Err(InadmissibleCause::NamespaceMismatch);
    }
    let errors = validate_resources(wl);
    if !errors.is_empty() {
        return Err(InadmissibleCause::InvalidResources {
            errors: aggregate(&errors),
        });
    }
    let errors = validate_limit_range(wl, cluster_objects);
    if !errors.is_empty() {
        return Err(InadmissibleCause::LimitRange {
            errors: aggregate(&errors),
        });
    }
    Ok(())
}
