//! Validation of updates of Workload.

use std::collections::{BTreeMap, BTreeSet};

use super::admission_gated_by::admission_gated_by_update;
use super::semantic_equality::deep_equal;
use super::workload::{has_quota_reservation, is_elastic, workload};
use crate::constants::WORKLOAD_SLICE_REPLACEMENT_FOR_ANNOTATION;
use crate::feature_gates::{Feature, FeatureGates};
use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::IMMUTABLE;
use crate::v1beta2::{Admission, CheckState, PodSet, Workload};

/// Validates an update of a Workload or of its status.
pub fn workload_update(new: &Workload, old: &Workload, gates: &FeatureGates) -> FieldErrors {
    let (spec, status) = (Path::new("spec"), Path::new("status"));
    let mut errors = workload(new, Some(old), gates);
    if has_quota_reservation(old) {
        let path = spec.child("podSets");
        errors.extend(pod_sets(
            &new.spec.pod_sets,
            &old.spec.pod_sets,
            &path,
            gates,
        ));
    }
    if has_quota_reservation(new) && has_quota_reservation(old) {
        errors.extend(reclaimable_pods(
            new,
            old,
            &status.child("reclaimablePods"),
            gates,
        ));
    }
    if let (Some(new), Some(old)) = (&new.status.admission, &old.status.admission) {
        errors.extend(admission(new, old, &status.child("admission"), gates));
    }
    errors.extend(pod_set_updates(new, old, &status.child("admissionChecks")));
    errors.extend(cluster_name(new, old, &status.child("clusterName"), gates));
    if gates.enabled(Feature::AdmissionGatedBy) {
        errors.extend(admission_gated_by_update(&new.metadata, &old.metadata));
    }
    errors
}

/// Pod sets are immutable, but elastic ones may shrink.
fn pod_sets(new: &[PodSet], old: &[PodSet], path: &Path, gates: &FeatureGates) -> FieldErrors {
    if new.len() != old.len() {
        return vec![FieldError::invalid(path, new, IMMUTABLE)];
    }
    let shrinks = gates.enabled(Feature::ElasticJobsViaWorkloadSlices);
    let pairs = new.iter().zip(old).enumerate();
    pairs
        .filter_map(|(i, (new, old))| {
            let mut new = new.clone();
            if shrinks && new.count < old.count {
                new.count = old.count;
            }
            let same = deep_equal(&new, old);
            (!same).then(|| FieldError::invalid(&path.child(&i.to_string()), &new, IMMUTABLE))
        })
        .collect()
}

/// An admission can be set or removed; only the topology assignment of an existing one may change.
fn admission(
    new: &Admission,
    old: &Admission,
    path: &Path,
    gates: &FeatureGates,
) -> Option<FieldError> {
    let mut old = old.clone();
    let (of_new, of_old) = (&new.pod_set_assignments, &mut old.pod_set_assignments);
    if gates.enabled(Feature::TopologyAwareScheduling) && of_new.len() == of_old.len() {
        for (new, old) in of_new.iter().zip(of_old) {
            old.topology_assignment = new.topology_assignment.clone();
            old.delayed_topology_request = new.delayed_topology_request;
        }
    }
    (!deep_equal(new, &old)).then(|| FieldError::invalid(path, new, IMMUTABLE))
}

/// Reclaimable counts only grow, except for pod sets that were scaled down.
fn reclaimable_pods(
    new: &Workload,
    old: &Workload,
    path: &Path,
    gates: &FeatureGates,
) -> FieldErrors {
    let counts = |w: &Workload| -> BTreeMap<String, i32> {
        w.status
            .reclaimable_pods
            .iter()
            .map(|p| (p.name.clone(), p.count))
            .collect()
    };
    let (now, before) = (counts(new), counts(old));
    if now == before || before.is_empty() {
        return FieldErrors::new();
    }
    let scaled_down = scaled_down_pod_sets(new, gates);
    let mut errors = FieldErrors::new();
    for pods in &new.status.reclaimable_pods {
        if let Some(was) = before.get(&pods.name)
            && pods.count < *was
            && !scaled_down.contains(pods.name.as_str())
        {
            let detail = format!("cannot be less than {was}");
            let path = path.key(&pods.name).child("count");
            errors.push(FieldError::invalid(&path, &pods.count, detail));
        }
    }
    let removed = before
        .keys()
        .filter(|n| !now.contains_key(*n) && !scaled_down.contains(n.as_str()));
    errors.extend(removed.map(|name| FieldError::required(&path.key(name), "cannot be removed")));
    errors
}

/// Pod sets of an elastic workload that are smaller than at their admission.
fn scaled_down_pod_sets<'a>(workload: &'a Workload, gates: &FeatureGates) -> BTreeSet<&'a str> {
    let Some(admission) = workload
        .status
        .admission
        .as_ref()
        .filter(|_| is_elastic(workload, gates))
    else {
        return BTreeSet::new();
    };
    // The last one of the reversed list is the first one.
    let sets = workload.spec.pod_sets.iter().rev();
    let counts: BTreeMap<&str, i32> = sets.map(|s| (s.name.as_str(), s.count)).collect();
    let count = |name: &str| counts.get(name).copied().unwrap_or_default();
    let assignments = admission.pod_set_assignments.iter();
    assignments
        .filter(|a| a.count.is_some_and(|c| c > count(&a.name)))
        .map(|a| a.name.as_str())
        .collect()
}

/// The podSetUpdates of a Ready check are immutable while it is Ready.
fn pod_set_updates(new: &Workload, old: &Workload, path: &Path) -> FieldErrors {
    let ready = |state: CheckState| state == CheckState::Ready;
    let checks = old.status.admission_checks.iter().enumerate();
    checks
        .filter(|(_, old)| ready(old.state))
        .filter_map(|(i, old)| {
            let mut now = new.status.admission_checks.iter();
            let now = now.find(|c| c.name == old.name && ready(c.state))?;
            let same = deep_equal(&now.pod_set_updates, &old.pod_set_updates);
            let path = path.index(i).child("podSetUpdates");
            (!same).then(|| FieldError::invalid(&path, &now.pod_set_updates, IMMUTABLE))
        })
        .collect()
}

/// clusterName must be one of the nominated clusters.
fn cluster_name(
    new: &Workload,
    old: &Workload,
    path: &Path,
    gates: &FeatureGates,
) -> Option<FieldError> {
    let annotations = new.metadata.annotations.as_ref();
    let replaces =
        annotations.is_some_and(|a| a.contains_key(WORKLOAD_SLICE_REPLACEMENT_FOR_ANNOTATION));
    if gates.enabled(Feature::ElasticJobsViaWorkloadSlices) && replaces {
        return None;
    }
    let chosen = new
        .status
        .cluster_name
        .as_ref()
        .filter(|_| old.status.cluster_name.is_none())?;
    let nominated = old.status.nominated_cluster_names.contains(chosen);
    (!nominated).then(|| {
        let detail = "when setting clusterName it must be one of the nominatedClusterNames";
        FieldError::invalid(path, chosen, detail)
    })
}
