//! Validation of ClusterQueue.

use std::collections::{BTreeMap, BTreeSet};

use super::resource_groups::{QuotaOwner, fair_sharing, resource_groups};
use crate::feature_gates::{Feature, FeatureGates};
use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::{IMMUTABLE, label_selector};
use crate::v1beta2::{
    BorrowWithinCohortPolicy, ClusterQueue, ClusterQueuePreemption, ClusterQueueSpec,
    ConcurrentAdmissionMigrationMode, FlavorFungibility, FlavorFungibilityPolicy, QueueingStrategy,
    ReclaimWithinCohort, ResourceGroup,
};

/// Maximum number of flavors, and of covered resources, of all groups.
const MAX_TOTAL: usize = 256;
/// Maximum number of flavor-resource pairs of a group.
const MAX_FLAVOR_RESOURCES_PER_GROUP: usize = 512;
/// Maximum number of flavors with a ConcurrentAdmissionPolicy.
const MAX_CONCURRENT_FLAVORS: usize = 16;

/// Validates a new ClusterQueue.
pub fn cluster_queue(queue: &ClusterQueue, gates: &FeatureGates) -> FieldErrors {
    let mut errors = spec(&queue.spec, gates);
    errors.extend(on_flavors(&queue.spec, &BTreeMap::new()));
    errors
}

/// Validates an update of a ClusterQueue.
pub fn cluster_queue_update(
    new: &ClusterQueue,
    old: &ClusterQueue,
    gates: &FeatureGates,
) -> FieldErrors {
    let mut errors = spec(&new.spec, gates);
    // An invalid reference of the old object does not block other changes while the flavors are the
    // same.
    let mut tolerated = BTreeMap::new();
    if !gates.enabled(Feature::RejectUpdatesToCQWithInvalidOnFlavors)
        && flavors(&old.spec.resource_groups) == flavors(&new.spec.resource_groups)
    {
        let rules = old.spec.admission_check_rules().iter();
        tolerated = rules
            .map(|r| (r.name.as_str(), to_set(&r.on_flavors)))
            .collect();
    }
    errors.extend(on_flavors(&new.spec, &tolerated));
    if new.spec.concurrent_admission_policy != old.spec.concurrent_admission_policy {
        errors.push(FieldError::invalid(
            &Path::new("spec").child("concurrentAdmissionPolicy"),
            &new.spec.concurrent_admission_policy,
            IMMUTABLE,
        ));
    }
    errors
}

fn to_set(names: &[String]) -> BTreeSet<&str> {
    names.iter().map(String::as_str).collect()
}

fn flavors(groups: &[ResourceGroup]) -> BTreeSet<&str> {
    groups
        .iter()
        .flat_map(|g| &g.flavors)
        .map(|f| f.name.as_str())
        .collect()
}

fn spec(spec: &ClusterQueueSpec, gates: &FeatureGates) -> FieldErrors {
    let path = Path::new("spec");
    let groups_path = path.child("resourceGroups");
    let groups = &spec.resource_groups;
    let owner = QuotaOwner {
        has_parent: spec.cohort().is_some(),
        parent: "cohort",
        limits_lending_to_nominal: true,
    };
    let mut errors = resource_groups(groups, owner, &groups_path);
    if let Some(selector) = &spec.namespace_selector {
        errors.extend(label_selector(selector, &path.child("namespaceSelector")));
    }
    if let Some(preemption) = &spec.preemption {
        errors.extend(self::preemption(preemption, &path.child("preemption")));
    }
    if let Some(fungibility) = &spec.flavor_fungibility {
        errors.extend(self::fungibility(
            fungibility,
            &path.child("flavorFungibility"),
        ));
    }
    errors.extend(fair_sharing(
        spec.fair_sharing.as_ref(),
        &path.child("fairSharing"),
    ));
    errors.extend(total_limits(groups, &groups_path));
    if gates.enabled(Feature::ConcurrentAdmission) {
        errors.extend(concurrent_admission(spec, &path));
    }
    errors
}

fn preemption(preemption: &ClusterQueuePreemption, path: &Path) -> Option<FieldError> {
    let never = preemption.reclaim_within_cohort == Some(ReclaimWithinCohort::Never);
    let borrows = preemption
        .borrow_within_cohort
        .as_ref()
        .is_some_and(|b| b.policy != Some(BorrowWithinCohortPolicy::Never));
    (never && borrows).then(|| {
        let detail = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never";
        FieldError::invalid(path, preemption, detail)
    })
}

fn fungibility(fungibility: &FlavorFungibility, path: &Path) -> Option<FieldError> {
    let preference = fungibility.preference?;
    let next = Some(FlavorFungibilityPolicy::TryNextFlavor);
    let both = fungibility.when_can_borrow == next && fungibility.when_can_preempt == next;
    (!both).then(|| {
        FieldError::invalid(
            &path.child("preference"),
            &preference,
            format!(
                "preference \"{preference}\" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor"
            ),
        )
    })
}

fn total_limits(groups: &[ResourceGroup], path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let flavors: usize = groups.iter().map(|g| g.flavors.len()).sum();
    let resources: usize = groups.iter().map(|g| g.covered_resources.len()).sum();
    for (total, what) in [(flavors, "flavors"), (resources, "covered resources")] {
        if total > MAX_TOTAL {
            let detail = format!(
                "total number of {what} across all resourceGroups must be ≤ {MAX_TOTAL}, got {total}"
            );
            errors.push(FieldError::invalid(path, &total, detail));
        }
    }
    for (i, group) in groups.iter().enumerate() {
        let pairs: usize = group.flavors.iter().map(|f| f.resources.len()).sum();
        if pairs > MAX_FLAVOR_RESOURCES_PER_GROUP {
            let detail = format!(
                "number of flavor-resource combinations in a resourceGroup must be ≤ {MAX_FLAVOR_RESOURCES_PER_GROUP}, got {pairs}"
            );
            errors.push(FieldError::invalid(&path.index(i), &pairs, detail));
        }
    }
    errors
}

/// The `onFlavors` of checks must be flavors of the queue. `tolerated` are unchanged invalid rules.
fn on_flavors(spec: &ClusterQueueSpec, tolerated: &BTreeMap<&str, BTreeSet<&str>>) -> FieldErrors {
    let known = flavors(&spec.resource_groups);
    let names: Vec<&str> = known.iter().copied().collect();
    let path = Path::new("spec")
        .child("admissionChecksStrategy")
        .child("admissionChecks");
    let mut errors = FieldErrors::new();
    for (i, rule) in spec.admission_check_rules().iter().enumerate() {
        if tolerated.get(rule.name.as_str()) == Some(&to_set(&rule.on_flavors)) {
            continue;
        }
        for (j, flavor) in rule.on_flavors.iter().enumerate() {
            if !known.contains(flavor.as_str()) {
                let path = path.index(i).child("onFlavors").index(j);
                errors.push(FieldError::not_supported(&path, flavor, &names));
            }
        }
    }
    errors
}

fn concurrent_admission(spec: &ClusterQueueSpec, path: &Path) -> FieldErrors {
    let Some(policy) = &spec.concurrent_admission_policy else {
        return FieldErrors::new();
    };
    let mut errors = FieldErrors::new();
    let groups_path = path.child("resourceGroups");
    match spec.resource_groups.as_slice() {
        [group] if group.flavors.len() > MAX_CONCURRENT_FLAVORS => errors.push(FieldError::invalid(
            &groups_path.index(0).child("flavors"),
            &group.flavors.len(),
            "cannot have more than 16 resource flavors in the ResourceGroup when ConcurrentAdmissionPolicy is defined",
        )),
        [_] => {}
        groups => errors.push(FieldError::invalid(
            &groups_path,
            &groups.len(),
            "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined",
        )),
    }
    if let Some(constraints) = &policy.migration.constraints {
        let path = path
            .child("concurrentAdmissionPolicy")
            .child("migration")
            .child("constraints");
        let preferred = ConcurrentAdmissionMigrationMode::TryPreferredFlavors;
        match policy.migration.mode {
            Some(mode) if mode != preferred => errors.push(FieldError::forbidden(
                &path,
                format!("may only be set when migration.mode is \"{preferred}\" (got \"{mode}\")"),
            )),
            _ => {
                let known = flavors(&spec.resource_groups);
                let last = constraints.last_acceptable_flavor_name.as_ref();
                if let Some(last) = last.filter(|l| !known.contains(l.as_str())) {
                    let names: Vec<&str> = known.into_iter().collect();
                    errors.push(FieldError::invalid(
                        &path.child("lastAcceptableFlavorName"),
                        last,
                        format!(
                            "must be one of the flavors defined in the ClusterQueue: [{}]",
                            names.join(" ")
                        ),
                    ));
                }
            }
        }
    }
    if spec.queueing_strategy == Some(QueueingStrategy::StrictFIFO) {
        errors.push(FieldError::invalid(
            &path.child("queueingStrategy"),
            &QueueingStrategy::StrictFIFO,
            "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined",
        ));
    }
    errors
}
