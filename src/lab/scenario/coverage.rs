//! Coverage: which queues, flavors, preemption policies and limits of a configuration cases have exercised.

use std::collections::BTreeSet;

use kueue_lab_engine::cache::HierarchyNodeKind;
use kueue_lab_engine::engine::ExhaustedLimit;
use kueue_lab_engine::resources::FlavorResource;
use kueue_lab_json::ValueExt;
use kueue_lab_presets::Manifest;
use kueue_lab_quantity::Quantity;
use serde_json::Value;

use crate::workload_history::WorkloadHistory;

/// Parts of a queue configuration, each as text.
pub type Parts = BTreeSet<String>;

fn queue_part(queue: &str) -> String {
    format!("ClusterQueue {queue}")
}

fn flavor_part(queue: &str, flavor: &str) -> String {
    format!("ClusterQueue {queue}: flavor {flavor}")
}

fn policy_part(queue: &str, policy: &str) -> String {
    format!("ClusterQueue {queue}: {policy}")
}

/// A quota or limit of an object, by kind and name, for a flavor and resource.
fn limit_part((kind, name): (&str, &str), (flavor, resource): (&str, &str), field: &str) -> String {
    format!("{kind} {name}: {field} of {resource} in {flavor}")
}

/// The parts of a preset that a case can exercise.
pub(crate) fn parts_of(manifests: &[Manifest]) -> Parts {
    let mut parts = Parts::new();
    for manifest in manifests {
        let key = &manifest.key;
        add_parts(&mut parts, (&key.kind, &key.name), &manifest.object["spec"]);
    }
    parts
}

fn add_parts(parts: &mut Parts, (kind, name): (&str, &str), spec: &Value) {
    match kind {
        "ClusterQueue" => {
            parts.insert(queue_part(name));
            add_policies(parts, name, spec);
            each_quota(spec, |flavor, _, _| {
                parts.insert(flavor_part(name, flavor));
            });
            add_limits(parts, (kind, name), spec, "/cohortName");
        }
        "Cohort" => add_limits(parts, (kind, name), spec, "/parentName"),
        _ => {}
    }
}

fn add_policies(parts: &mut Parts, queue: &str, spec: &Value) {
    let policies = [
        ("withinClusterQueue", "/preemption/withinClusterQueue"),
        ("reclaimWithinCohort", "/preemption/reclaimWithinCohort"),
        (
            "borrowWithinCohort",
            "/preemption/borrowWithinCohort/policy",
        ),
    ];
    for (policy, pointer) in policies {
        if !matches!(spec.text(pointer), "" | "Never") {
            parts.insert(policy_part(queue, policy));
        }
    }
}

/// The quotas and limits of an object; limits have no effect without a parent.
fn add_limits(parts: &mut Parts, object: (&str, &str), spec: &Value, parent: &str) {
    let has_parent = !spec.text(parent).is_empty();
    each_quota(spec, |flavor, resource, quota| {
        let is_positive = |field| amount(quota, field).is_some_and(|amount| amount > 0);
        let fields = [
            ("nominalQuota", is_positive("nominalQuota")),
            (
                "borrowingLimit",
                has_parent && is_positive("borrowingLimit"),
            ),
            (
                "lendingLimit",
                has_parent && amount(quota, "lendingLimit").is_some(),
            ),
        ];
        for (field, _) in fields.into_iter().filter(|(_, can_be_used)| *can_be_used) {
            parts.insert(limit_part(object, (flavor, resource), field));
        }
    });
}

fn each_quota(spec: &Value, mut each: impl FnMut(&str, &str, &Value)) {
    for group in spec.list("/resourceGroups") {
        for flavor in group.list("/flavors") {
            for quota in flavor.list("/resources") {
                each(flavor.text("/name"), quota.text("/name"), quota);
            }
        }
    }
}

fn amount(quota: &Value, field: &str) -> Option<i128> {
    Some(Quantity::of(quota.get(field)?)?.nanos())
}

/// Records the queue and flavors of a version of a Workload.
pub(crate) fn record_workload(parts: &mut Parts, workload: &Value) {
    let admission = &workload["status"]["admission"];
    let queue = admission.text("/clusterQueue");
    if queue.is_empty() {
        return;
    }
    parts.insert(queue_part(queue));
    for pod_set in admission.list("/podSetAssignments") {
        for flavor in pod_set["flavors"].as_object().into_iter().flatten() {
            parts.insert(flavor_part(queue, flavor.1.as_str().unwrap_or_default()));
        }
    }
}

/// Records the quotas and limits that are used completely.
pub(crate) fn record_limits(parts: &mut Parts, exhausted: Vec<ExhaustedLimit>) {
    for limit in exhausted {
        let kind = match limit.kind {
            HierarchyNodeKind::ClusterQueue => "ClusterQueue",
            HierarchyNodeKind::Cohort => "Cohort",
        };
        let FlavorResource { flavor, resource } = &limit.flavor_resource;
        let of = (&**flavor, resource.as_str());
        parts.insert(limit_part((kind, &limit.name), of, limit.field.name()));
    }
}

/// Records the preemption policies that found victims.
pub(crate) fn record_preemptions(parts: &mut Parts, history: &WorkloadHistory) {
    for workload in history.all() {
        for preemption in &workload.preemptions {
            let policy = match preemption.reason.as_str() {
                "InClusterQueue" => "withinClusterQueue",
                "InCohortReclaimWhileBorrowing" => "borrowWithinCohort",
                _ => "reclaimWithinCohort",
            };
            let queue = preemption.preemptor_queue.as_str();
            if !queue.is_empty() {
                parts.insert(policy_part(queue, policy));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_preemption_counts_for_a_preemptor_without_quota() {
        let preempted = json!({
            "metadata": {"namespace": "default", "name": "victim", "uid": "v"},
            "status": {"conditions": [{
                "type": "Preempted",
                "status": "True",
                "reason": "InCohortReclamation",
                "message": "Preempted to accommodate a workload (UID: u, JobUID: j) due to reclamation \
                            within the cohort; preemptor path: /research/team-a; preemptee path: \
                            /research/team-b",
                "lastTransitionTime": "2026-01-01T00:00:00Z"
            }]}
        });
        let mut history = WorkloadHistory::default();
        history.record(&preempted, Timestamp::UNIX_EPOCH);
        let mut parts = Parts::new();
        record_preemptions(&mut parts, &history);
        let expected = "ClusterQueue team-a: reclaimWithinCohort".to_owned();
        assert_eq!(parts, Parts::from([expected]));
    }

    #[test]
    fn the_quotas_and_limits_of_cohorts_are_parts() {
        let quota = json!({"name": "cpu", "nominalQuota": "10", "borrowingLimit": "2", "lendingLimit": "3"});
        let groups = json!([{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}]);
        let spec = |parent: &str| json!({"parentName": parent, "resourceGroups": groups});
        let mut parts = Parts::new();
        add_parts(&mut parts, ("Cohort", "root"), &spec(""));
        add_parts(&mut parts, ("Cohort", "team"), &spec("root"));
        let expected = [
            "Cohort root: nominalQuota of cpu in f",
            "Cohort team: borrowingLimit of cpu in f",
            "Cohort team: lendingLimit of cpu in f",
            "Cohort team: nominalQuota of cpu in f",
        ];
        assert_eq!(parts, Parts::from(expected.map(str::to_owned)));
    }
}
