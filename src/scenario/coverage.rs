//! Coverage: which queues, flavors, preemption policies and limits of a configuration cases have exercised.

use std::collections::BTreeSet;

use kueue_lab_presets::Manifest;
use kueue_lab_quantity::Quantity;
use serde_json::Value;

use crate::workload_history::WorkloadHistory;

/// Parts of a queue configuration, each in words.
pub type Parts = BTreeSet<String>;

fn items<'v>(object: &'v Value, field: &str) -> &'v [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

fn queue_part(queue: &str) -> String {
    format!("ClusterQueue {queue}")
}

fn flavor_part(queue: &str, flavor: &str) -> String {
    format!("ClusterQueue {queue}: flavor {flavor}")
}

fn policy_part(queue: &str, policy: &str) -> String {
    format!("ClusterQueue {queue}: {policy}")
}

fn limit_part(queue: &str, flavor: &str, resource: &str, limit: &str) -> String {
    format!("ClusterQueue {queue}: {limit} of {resource} in {flavor}")
}

/// The parts of a preset that a case can exercise.
pub(crate) fn parts_of(manifests: &[Manifest]) -> Parts {
    let mut parts = Parts::new();
    for manifest in manifests.iter().filter(|m| m.key.kind == "ClusterQueue") {
        let (name, spec) = (&manifest.key.name, &manifest.object["spec"]);
        parts.insert(queue_part(name));
        for policy in ["withinClusterQueue", "reclaimWithinCohort"] {
            let value = text(&spec["preemption"], &format!("/{policy}"));
            if !matches!(value, "" | "Never") {
                parts.insert(policy_part(name, policy));
            }
        }
        if !matches!(
            text(spec, "/preemption/borrowWithinCohort/policy"),
            "" | "Never"
        ) {
            parts.insert(policy_part(name, "borrowWithinCohort"));
        }
        each_quota(spec, |flavor, resource, quota| {
            parts.insert(flavor_part(name, flavor));
            for limit in ["nominalQuota", "borrowingLimit"] {
                if amount(quota, limit).is_some_and(|limit| limit > 0) {
                    parts.insert(limit_part(name, flavor, resource, limit));
                }
            }
        });
    }
    parts
}

fn each_quota(spec: &Value, mut each: impl FnMut(&str, &str, &Value)) {
    for group in items(spec, "resourceGroups") {
        for flavor in items(group, "flavors") {
            for quota in items(flavor, "resources") {
                each(text(flavor, "/name"), text(quota, "/name"), quota);
            }
        }
    }
}

fn amount(quota: &Value, field: &str) -> Option<i128> {
    Some(Quantity::of(quota.get(field)?)?.nanos())
}

/// Records what a version of a Workload exercises: its queue and flavors.
pub(crate) fn record_workload(parts: &mut Parts, workload: &Value) {
    let admission = &workload["status"]["admission"];
    let queue = text(admission, "/clusterQueue");
    if queue.is_empty() {
        return;
    }
    parts.insert(queue_part(queue));
    for pod_set in items(admission, "podSetAssignments") {
        for flavor in pod_set["flavors"].as_object().into_iter().flatten() {
            parts.insert(flavor_part(queue, flavor.1.as_str().unwrap_or_default()));
        }
    }
}

/// Records what a version of a ClusterQueue exercises: quotas and limits that are used completely.
pub(crate) fn record_cluster_queue(parts: &mut Parts, queue: &Value) {
    let name = text(queue, "/metadata/name");
    each_quota(&queue["spec"], |flavor, resource, quota| {
        let of_flavor = |usage: &&Value| usage["name"] == flavor;
        let usage = items(&queue["status"], "flavorsUsage")
            .iter()
            .find(of_flavor);
        let of_resource = |usage: &&Value| usage["name"] == resource;
        let usage = usage.and_then(|usage| items(usage, "resources").iter().find(of_resource));
        for (limit, used) in [("nominalQuota", "total"), ("borrowingLimit", "borrowed")] {
            let used = usage
                .and_then(|usage| amount(usage, used))
                .unwrap_or_default();
            if amount(quota, limit).is_some_and(|limit| limit > 0 && used >= limit) {
                parts.insert(limit_part(name, flavor, resource, limit));
            }
        }
    });
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
            let preemptor = preemption.preemptor.as_ref();
            let preemptor = preemptor.and_then(|uid| history.by_uid(uid));
            let queue = preemptor.map(|w| text(&w.object, "/status/admission/clusterQueue"));
            if let Some(queue) = queue.filter(|queue| !queue.is_empty()) {
                parts.insert(policy_part(queue, policy));
            }
        }
    }
}
