//! Validation of Workload.

use std::collections::{HashMap, HashSet};

use k8s_openapi::api::core::v1::{Container, ResourceRequirements};

use super::admission_gated_by::admission_gated_by;
use crate::constants::{
    ELASTIC_JOB_ANNOTATION, ELASTIC_JOB_VALUE, PRIORITY_BOOST_ANNOTATION, QUOTA_RESERVED,
};
use crate::feature_gates::{Feature, FeatureGates};
use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::{
    annotations, conditions, labels, not_negative, quantity, tolerations,
};
use crate::v1beta2::{
    AdmissionCheckState, PodSet, PodSetTopologyRequest, ReclaimablePod, ResourceList, Workload,
};
use kueue_lab_quantity::Quantity;

/// Whether the workload has a quota reservation.
pub(super) fn has_quota_reservation(workload: &Workload) -> bool {
    workload.is_condition_true(QUOTA_RESERVED)
}

/// Whether the workload is elastic.
pub(super) fn is_elastic(workload: &Workload, gates: &FeatureGates) -> bool {
    let annotations = workload.metadata.annotations.as_ref();
    gates.enabled(Feature::ElasticJobsViaWorkloadSlices)
        && annotations
            .and_then(|a| a.get(ELASTIC_JOB_ANNOTATION))
            .is_some_and(|v| v == ELASTIC_JOB_VALUE)
}

/// Validates a Workload; `old` is the object before an update, `None` on create.
pub fn workload(workload: &Workload, old: Option<&Workload>, gates: &FeatureGates) -> FieldErrors {
    let (spec, status) = (Path::new("spec"), Path::new("status"));
    let pod_sets = spec.child("podSets");
    let mut errors = FieldErrors::new();
    for (i, set) in workload.spec.pod_sets.iter().enumerate() {
        errors.extend(pod_set(set, &pod_sets.index(i), gates));
    }
    let variable = workload
        .spec
        .pod_sets
        .iter()
        .filter(|s| s.min_count.is_some())
        .count();
    if variable > 1 {
        let detail = "at most one podSet can use minCount";
        errors.push(FieldError::invalid(&pod_sets, &variable, detail));
    }
    if variable > 0 && is_elastic(workload, gates) {
        let detail = "partial admission and elastic job cannot be used together";
        errors.push(FieldError::invalid(&pod_sets, &variable, detail));
    }
    if has_quota_reservation(workload) {
        errors.extend(admission(workload, old, &status.child("admission")));
    }
    errors.extend(conditions(
        &workload.status.conditions,
        &status.child("conditions"),
    ));
    errors.extend(reclaimable_pods(
        workload,
        old,
        &status.child("reclaimablePods"),
        gates,
    ));
    for (i, check) in workload.status.admission_checks.iter().enumerate() {
        let path = status
            .child("admissionChecks")
            .index(i)
            .child("podSetUpdates");
        errors.extend(pod_set_updates(check, workload, &path));
    }
    if gates.enabled(Feature::AdmissionGatedBy) {
        errors.extend(admission_gated_by(&workload.metadata));
    }
    if gates.enabled(Feature::PriorityBoost) {
        errors.extend(priority_boost(workload));
    }
    errors
}

fn pod_set(set: &PodSet, path: &Path, gates: &FeatureGates) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let template = path.child("template");
    if gates.enabled(Feature::WorkloadValidationForPodSetMetadata)
        && let Some(metadata) = &set.template.metadata
    {
        let path = template.child("metadata");
        errors.extend(labels(
            metadata.labels.iter().flatten(),
            &path.child("labels"),
        ));
        if let Some(of_template) = &metadata.annotations {
            errors.extend(annotations(of_template, &path.child("annotations")));
        }
    }
    if let Some(pod) = &set.template.spec {
        let path = template.child("spec");
        let init = pod.init_containers.iter().flatten();
        for (i, container) in init.enumerate() {
            errors.extend(container_resources(
                container,
                &path.child("initContainers").index(i),
                gates,
            ));
        }
        for (i, container) in pod.containers.iter().enumerate() {
            errors.extend(container_resources(
                container,
                &path.child("containers").index(i),
                gates,
            ));
        }
        errors.extend(requirements(
            pod.resources.as_ref(),
            &path.child("resources"),
            gates,
        ));
    }
    if gates.enabled(Feature::TASValidateWorkloadSliceSize)
        && let Some(request) = &set.topology_request
    {
        errors.extend(slice_sizes(request, &path.child("topologyRequest")));
    }
    errors
}

fn container_resources(container: &Container, path: &Path, gates: &FeatureGates) -> FieldErrors {
    requirements(
        container.resources.as_ref(),
        &path.child("resources"),
        gates,
    )
}

fn requirements(
    requirements: Option<&ResourceRequirements>,
    path: &Path,
    gates: &FeatureGates,
) -> FieldErrors {
    let Some(requirements) = requirements else {
        return FieldErrors::new();
    };
    let requests = requirements.requests.as_ref();
    let limits = requirements.limits.as_ref();
    let requests = requests.map(|r| resource_list(r, &path.child("requests"), gates));
    let limits = limits.map(|l| resource_list(l, &path.child("limits"), gates));
    requests.into_iter().chain(limits).flatten().collect()
}

/// The resource `pods` is reserved for Kueue; quantities must not be negative.
fn resource_list(list: &ResourceList, path: &Path, gates: &FeatureGates) -> FieldErrors {
    let mut errors = FieldErrors::new();
    for (name, amount) in list {
        let path = path.key(name);
        if name == "pods" {
            let detail = "the key is reserved for internal kueue use";
            errors.push(FieldError::invalid(&path, "pods", detail));
        }
        if gates.enabled(Feature::WorkloadValidateResourcesAreNonNegative) {
            errors.extend(not_negative(amount, &path));
        }
    }
    errors
}

fn slice_sizes(request: &PodSetTopologyRequest, path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let size = path.child("podSetSliceSize");
    match (
        &request.pod_set_slice_required_topology,
        request.pod_set_slice_size,
    ) {
        (Some(_), None) => errors.push(FieldError::required(
            &size,
            "must be set when podSetSliceRequiredTopology is specified",
        )),
        (Some(_), Some(n)) if n <= 0 => {
            errors.push(FieldError::invalid(&size, &n, "must be greater than 0"));
        }
        (None, Some(_)) => errors.push(FieldError::forbidden(
            &size,
            "may not be set when podSetSliceRequiredTopology is not specified",
        )),
        _ => {}
    }
    let layers = request
        .podset_slice_required_topology_constraints
        .iter()
        .enumerate();
    for (i, layer) in layers.filter(|(_, layer)| layer.size <= 0) {
        let path = path
            .child("podsetSliceRequiredTopologyConstraints")
            .index(i)
            .child("size");
        errors.push(FieldError::invalid(
            &path,
            &layer.size,
            "must be greater than 0",
        ));
    }
    errors
}

fn admission(workload: &Workload, old: Option<&Workload>, path: &Path) -> FieldErrors {
    let Some(admission) = &workload.status.admission else {
        // An invalid old state is tolerated, so that the object can be repaired.
        let was_invalid =
            old.is_some_and(|o| has_quota_reservation(o) && o.status.admission.is_none());
        let detail = "must be set while the QuotaReserved condition is true";
        return if was_invalid {
            Vec::new()
        } else {
            vec![FieldError::required(path, detail)]
        };
    };
    let names = pod_set_names(workload);
    let mut errors = FieldErrors::new();
    for (i, assignment) in admission.pod_set_assignments.iter().enumerate() {
        let path = path.child("podSetAssignments").index(i);
        if !names.contains(assignment.name.as_str()) {
            errors.push(FieldError::not_found(&path.child("name"), &assignment.name));
        }
        let Some(count) = assignment.count.filter(|c| *c > 0) else {
            continue;
        };
        for (name, text) in &assignment.resource_usage {
            let path = path.child("resourceUsage").key(name);
            match quantity(text, &path) {
                Ok(usage) if resource_value(name, usage) % i64::from(count) != 0 => {
                    let detail = format!("is not a multiple of {count}");
                    errors.push(FieldError::invalid(&path, &usage.to_string(), detail));
                }
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
    }
    errors
}

fn pod_set_names(workload: &Workload) -> HashSet<&str> {
    let sets = workload.spec.pod_sets.iter();
    sets.map(|s| s.name.as_str()).collect()
}

/// Kueue's integer value of a quantity: millicores of CPU, whole units of other resources.
fn resource_value(resource: &str, usage: Quantity) -> i64 {
    if resource == "cpu" {
        usage.milli_value()
    } else {
        usage.value()
    }
}

fn reclaimable_pods(
    workload: &Workload,
    old: Option<&Workload>,
    path: &Path,
    gates: &FeatureGates,
) -> FieldErrors {
    let names: Vec<&str> = workload
        .spec
        .pod_sets
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    // After a scale-down the old count may be too high until it is updated.
    let before: Option<HashMap<&str, Vec<i32>>> =
        old.filter(|_| is_elastic(workload, gates)).map(|old| {
            let mut counts: HashMap<&str, Vec<i32>> = HashMap::new();
            for pods in &old.status.reclaimable_pods {
                counts.entry(&pods.name).or_default().push(pods.count);
            }
            counts
        });
    let was = |pods: &ReclaimablePod| {
        let counts = before.as_ref().and_then(|b| b.get(pods.name.as_str()));
        counts.is_some_and(|counts| counts.contains(&pods.count))
    };
    // The last one of the reversed list is the first one.
    let sets = workload.spec.pod_sets.iter().rev();
    let sets: HashMap<&str, &PodSet> = sets.map(|s| (s.name.as_str(), s)).collect();
    let mut errors = FieldErrors::new();
    for pods in &workload.status.reclaimable_pods {
        let path = path.key(&pods.name);
        match sets.get(pods.name.as_str()) {
            None => {
                errors.push(FieldError::not_supported(
                    &path.child("name"),
                    &pods.name,
                    &names,
                ));
            }
            Some(set) if pods.count > set.count && !was(pods) => {
                let detail = format!("should be less or equal to {}", set.count);
                errors.push(FieldError::invalid(
                    &path.child("count"),
                    &pods.count,
                    detail,
                ));
            }
            Some(_) => {}
        }
    }
    errors
}

fn pod_set_updates(check: &AdmissionCheckState, workload: &Workload, path: &Path) -> FieldErrors {
    let known = pod_set_names(workload);
    let sets = workload.spec.pod_sets.iter();
    let mut names: Vec<&str> = sets.map(|s| s.name.as_str()).collect();
    names.sort_unstable();
    let mut errors = FieldErrors::new();
    for (i, update) in check.pod_set_updates.iter().enumerate() {
        let path = path.index(i);
        if !known.contains(update.name.as_str()) {
            errors.push(FieldError::not_supported(
                &path.child("name"),
                &update.name,
                &names,
            ));
        }
        errors.extend(tolerations(&update.tolerations, &path.child("tolerations")));
        errors.extend(annotations(&update.annotations, &path.child("annotations")));
        errors.extend(labels(&update.node_selector, &path.child("nodeSelector")));
        errors.extend(labels(&update.labels, &path.child("labels")));
    }
    errors
}

fn priority_boost(workload: &Workload) -> Option<FieldError> {
    let boost = workload
        .metadata
        .annotations
        .as_ref()?
        .get(PRIORITY_BOOST_ANNOTATION)?;
    let path = Path::new("metadata")
        .child("annotations")
        .key(PRIORITY_BOOST_ANNOTATION);
    let detail = if boost.is_empty() {
        "must be a valid signed integer; use \"0\" explicitly, empty string is not allowed"
    } else if boost.parse::<i32>().is_err() {
        "must be a valid signed integer"
    } else {
        return None;
    };
    Some(FieldError::invalid(&path, boost, detail))
}
