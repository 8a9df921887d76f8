//! What makes a Workload inadmissible whatever the quota: its namespace, requests above limits,
//! LimitRanges.

use std::fmt;

use thiserror::Error;

use super::predicates::namespace;
use crate::cluster_objects::ClusterObjects;
use crate::kube::label_selector::Selector;
use crate::kube::limit_range::{aggregate, requests_above_limits};
use kueue_lab_api::v1beta2::Workload;

/// Why a Workload cannot be admitted whatever the quota. The texts go into its conditions.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InadmissibleError {
    /// Its namespace is gone.
    #[error("workload namespace {0:?} does not exist: namespaces {0:?} not found")]
    NamespaceMissing(String),
    /// The ClusterQueue does not take this namespace.
    #[error("workload namespace doesn't match ClusterQueue selector")]
    NamespaceMismatch,
    /// Requests are above limits.
    #[error("resources validation failed: {0}")]
    Resources(String),
    /// Requests are outside the namespace's LimitRanges.
    #[error("resources didn't satisfy LimitRange constraints: {0}")]
    LimitRange(String),
}

/// Containers of the Workload whose requests are above their limits.
pub fn validate_resources(wl: &Workload) -> Vec<String> {
    pod_specs(wl)
        .flat_map(|(path, spec)| requests_above_limits(spec, path))
        .collect()
}

/// Where the Workload is outside the LimitRanges of its namespace.
pub fn validate_limit_range(wl: &Workload, world: &ClusterObjects) -> Vec<String> {
    let Some(limits) = world.limit_range_summary(namespace(wl)) else {
        return Vec::new();
    };
    pod_specs(wl)
        .flat_map(|(path, spec)| limits.violations(spec, path))
        .collect()
}

/// The field path of the pods of a pod set, by its place. Nobody reads it as long as all is well.
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

/// Checks a Workload against its namespace and a ClusterQueue's namespace selector.
///
/// # Errors
/// When it cannot be admitted there whatever the quota.
pub fn validate_admissibility(
    wl: &Workload,
    selector: &Selector,
    world: &ClusterObjects,
) -> Result<(), InadmissibleError> {
    let ns = namespace(wl);
    let labels = world
        .namespace(ns)
        .ok_or_else(|| InadmissibleError::NamespaceMissing(ns.to_owned()))?;
    if !selector.matches(labels) {
        return Err(InadmissibleError::NamespaceMismatch);
    }
    let errors = validate_resources(wl);
    if !errors.is_empty() {
        return Err(InadmissibleError::Resources(aggregate(&errors)));
    }
    let errors = validate_limit_range(wl, world);
    if !errors.is_empty() {
        return Err(InadmissibleError::LimitRange(aggregate(&errors)));
    }
    Ok(())
}
