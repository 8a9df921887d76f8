//! Coverage: which queues, flavors, preemption policies and limits of a configuration cases have exercised.

use std::collections::BTreeSet;

use kueue_lab_api::cohort_parents::CohortParents;
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
            if amount(quota, "lendingLimit").is_some() && !text(spec, "/cohortName").is_empty() {
                parts.insert(limit_part(name, flavor, resource, "lendingLimit"));
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
        for (limit, part) in [("nominalQuota", "total"), ("borrowingLimit", "borrowed")] {
            let used = used(queue, flavor, resource, part);
            if amount(quota, limit).is_some_and(|limit| limit > 0 && used >= limit) {
                parts.insert(limit_part(name, flavor, resource, limit));
            }
        }
    });
}

/// Records the lending limits that hold back quota: of all that the ClusterQueues and Cohorts of a tree lend,
/// nothing is left, and a ClusterQueue with a limit has unused quota beyond it. A limit of 0 counts while a
/// Workload of another ClusterQueue is pending. Limits of Cohorts are not taken into account: with them, more
/// counts as left than can be borrowed.
pub(crate) fn record_lending_limits<'v>(
    parts: &mut Parts,
    queues: impl Iterator<Item = &'v Value> + Clone,
    cohorts: impl Iterator<Item = &'v Value> + Clone,
) {
    let parents = CohortParents::new(cohorts.clone());
    for queue in queues.clone() {
        let name = text(queue, "/metadata/name");
        let tree = parents.root(text(queue, "/spec/cohortName"));
        each_quota(&queue["spec"], |flavor, resource, quota| {
            let Some(limit) = amount(quota, "lendingLimit") else {
                return;
            };
            let key = (flavor, resource);
            let others = queues.clone().filter(|other| {
                !tree.is_empty()
                    && parents.root(text(other, "/spec/cohortName")) == tree
                    && text(other, "/metadata/name") != name
            });
            let mut lent = lending(queue, key);
            let holds_back = lent.unused > limit;
            for other in others.clone() {
                let other = lending(other, key);
                lent.lendable += other.lendable;
                lent.borrowed += other.borrowed;
            }
            for cohort in cohorts.clone() {
                if parents.root(text(cohort, "/metadata/name")) == tree {
                    lent.lendable += nominal_quota(cohort, key);
                }
            }
            let pending = |other: &Value| other["status"]["pendingWorkloads"].as_i64() > Some(0);
            let is_reached = match limit {
                0 => others.clone().any(pending),
                _ => lent.borrowed > 0,
            };
            if holds_back && is_reached && lent.borrowed >= lent.lendable {
                parts.insert(limit_part(name, flavor, resource, "lendingLimit"));
            }
        });
    }
}

/// The nominal quota of a Cohort.
fn nominal_quota(cohort: &Value, key: (&str, &str)) -> i128 {
    let mut nominal = 0;
    each_quota(&cohort["spec"], |flavor, resource, quota| {
        if (flavor, resource) == key {
            nominal = amount(quota, "nominalQuota").unwrap_or_default();
        }
    });
    nominal
}

/// What a ClusterQueue lends and borrows of a flavor and resource.
#[derive(Default)]
struct Lending {
    /// The nominal quota that it does not use itself.
    unused: i128,
    /// The part of it that others can borrow.
    lendable: i128,
    borrowed: i128,
}

fn lending(queue: &Value, key: (&str, &str)) -> Lending {
    let mut lending = Lending::default();
    each_quota(&queue["spec"], |flavor, resource, quota| {
        if (flavor, resource) == key {
            let used = |part: &str| used(queue, flavor, resource, part);
            let nominal = amount(quota, "nominalQuota").unwrap_or_default();
            lending.unused = (nominal - used("total")).max(0);
            let limit = amount(quota, "lendingLimit").unwrap_or(i128::MAX);
            lending.lendable = lending.unused.min(limit);
            lending.borrowed = used("borrowed");
        }
    });
    lending
}

/// The usage of a flavor and resource in the status of a ClusterQueue: `total` or `borrowed`.
fn used(queue: &Value, flavor: &str, resource: &str, part: &str) -> i128 {
    let mut flavors = items(&queue["status"], "flavorsUsage").iter();
    let usage = flavors.find(|usage| usage["name"] == flavor);
    let usage = usage.and_then(|usage| {
        items(usage, "resources")
            .iter()
            .find(|u| u["name"] == resource)
    });
    usage
        .and_then(|usage| amount(usage, part))
        .unwrap_or_default()
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

    /// A ClusterQueue of 10 CPUs with its usage and what it borrows.
    fn queue(
        name: &str,
        cohort: &str,
        lending_limit: Option<u32>,
        total: u32,
        borrowed: u32,
    ) -> Value {
        let mut quota = json!({"name": "cpu", "nominalQuota": "10"});
        if let Some(limit) = lending_limit {
            quota["lendingLimit"] = limit.to_string().into();
        }
        let usage =
            json!({"name": "cpu", "total": total.to_string(), "borrowed": borrowed.to_string()});
        json!({
            "metadata": {"name": name},
            "spec": {"cohortName": cohort, "resourceGroups": [
                {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}]},
            "status": {"pendingWorkloads": 1, "flavorsUsage": [{"name": "f", "resources": [usage]}]},
        })
    }

    fn cohort(name: &str, parent: &str, nominal: u32) -> Value {
        let quota = json!({"name": "cpu", "nominalQuota": nominal.to_string()});
        json!({
            "metadata": {"name": name},
            "spec": {"parentName": parent, "resourceGroups": [
                {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}]},
        })
    }

    /// Whether the limit of `lends` holds back quota that `borrows` could use.
    fn holds_back(limit: u32, borrowed: u32, cohorts: &[Value], cohort_of_borrower: &str) -> bool {
        let queues = [
            queue("lends", "all", Some(limit), 0, 0),
            queue("borrows", cohort_of_borrower, None, 10 + borrowed, borrowed),
        ];
        let mut parts = Parts::new();
        record_lending_limits(&mut parts, queues.iter(), cohorts.iter());
        parts.contains("ClusterQueue lends: lendingLimit of cpu in f")
    }

    #[test]
    fn a_lending_limit_counts_when_all_that_is_lent_is_borrowed() {
        assert!(!holds_back(4, 3, &[], "all"));
        assert!(holds_back(4, 4, &[], "all"));
        // A limit of 0 counts while another Workload is pending.
        assert!(holds_back(0, 0, &[], "all"));
        assert!(!holds_back(4, 4, &[], "other"));
    }

    #[test]
    fn the_quota_of_cohorts_is_lent_too() {
        let own = [cohort("all", "", 5)];
        assert!(!holds_back(4, 4, &own, "all"));
        assert!(holds_back(4, 9, &own, "all"));
        let tree = [
            cohort("all", "root", 0),
            cohort("team", "root", 2),
            cohort("root", "", 3),
        ];
        assert!(!holds_back(4, 8, &tree, "team"));
        assert!(holds_back(4, 9, &tree, "team"));
        let apart = [cohort("all", "root", 0), cohort("team", "", 2)];
        assert!(!holds_back(4, 9, &apart, "team"));
    }
}
