//! Updates of Workload.

use serde_json::{Value, json};

use super::object;
use crate::config::{Feature, FeatureGates};
use crate::validation::update;

/// A workload with quota reserved and two pod sets.
fn admitted(counts: [i32; 2]) -> Value {
    let set = |name: &str, count: i32| {
        json!({"name": name, "count": count, "template": {"spec": {"containers": [
            {"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}})
    };
    let given = |name: &str| {
        json!({"name": name, "count": 3, "flavors": {"cpu": "f"},
        "resourceUsage": {"cpu": "3"}})
    };
    object(
        "Workload",
        json!({
            "metadata": {"name": "x", "annotations": {}},
            "spec": {"podSets": [set("ps1", counts[0]), set("ps2", counts[1])]},
            "status": {
                "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "R",
                    "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "admission": {"clusterQueue": "q", "podSetAssignments": [given("ps1"), given("ps2")]},
            },
        }),
    )
}

fn elastic(mut workload: Value) -> Value {
    workload["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = json!("true");
    workload
}

fn with_reclaimable_pods(mut workload: Value, done: Value) -> Value {
    workload["status"]["reclaimablePods"] = done;
    workload
}

fn texts(new: &Value, old: &Value) -> Vec<String> {
    texts_with(new, old, &FeatureGates::default())
}

fn texts_with(new: &Value, old: &Value, gates: &FeatureGates) -> Vec<String> {
    update(new, old, gates)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn pod_sets_are_immutable_while_quota_is_reserved() {
    let old = admitted([3, 3]);
    assert_eq!(texts(&old, &old), [""; 0]);
    let mut grown = old.clone();
    grown["spec"]["podSets"][1]["count"] = json!(4);
    let found = texts(&grown, &old);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("spec.podSets.1: Invalid value: {\"name\":\"ps2\""),
        "{found:?}"
    );
    assert!(found[0].ends_with(": field is immutable"), "{found:?}");
    // Fewer pods are fine for elastic jobs, and where jobs can be elastic.
    let shrunk = admitted([3, 2]);
    assert_eq!(texts(&shrunk, &old), [""; 0]);
    let rigid = FeatureGates::default().with(Feature::ElasticJobsViaWorkloadSlices, false);
    assert_eq!(texts_with(&shrunk, &old, &rigid).len(), 1);
    // The same request spelt otherwise is the same.
    let mut respelt = old.clone();
    respelt["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] =
        json!("1000m");
    assert_eq!(texts(&respelt, &old), [""; 0]);
    let mut removed = old.clone();
    removed["spec"]["podSets"].as_array_mut().unwrap().pop();
    assert!(
        texts(&removed, &old)
            .iter()
            .any(|e| e.starts_with("spec.podSets: Invalid value"))
    );
    // Without quota everything may change.
    let mut free = old.clone();
    free["status"] = json!({});
    assert_eq!(texts(&grown, &free), [""; 0]);
}

#[test]
fn admission_is_immutable_but_for_topology_assignment() {
    let old = admitted([3, 3]);
    let mut placed = old.clone();
    placed["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] =
        json!({"levels": ["rack"], "slices": []});
    placed["status"]["admission"]["podSetAssignments"][1]["delayedTopologyRequest"] =
        json!("Ready");
    assert_eq!(texts(&placed, &old), [""; 0]);
    let without = FeatureGates::default().with(Feature::TopologyAwareScheduling, false);
    assert_eq!(texts_with(&placed, &old, &without).len(), 1);
    let mut moved = old.clone();
    moved["status"]["admission"]["clusterQueue"] = json!("other");
    let found = texts(&moved, &old);
    assert!(found[0].starts_with("status.admission: Invalid value: {\"clusterQueue\":\"other\""));
    let mut fewer = old.clone();
    fewer["status"]["admission"]["podSetAssignments"]
        .as_array_mut()
        .unwrap()
        .pop();
    assert_eq!(texts(&fewer, &old).len(), 1);
    let mut gone = old.clone();
    gone["status"] = json!({});
    assert_eq!(texts(&gone, &old), [""; 0]);
    assert_eq!(texts(&old, &gone), [""; 0]);
}

#[test]
fn a_reservation_without_admission_can_only_be_removed() {
    let mut broken = admitted([3, 3]);
    broken["status"]
        .as_object_mut()
        .unwrap()
        .remove("admission");
    let error =
        "status.admission: Required value: must be set while the QuotaReserved condition is true";
    assert_eq!(texts(&broken, &admitted([3, 3])), [error]);
    assert_eq!(texts(&broken, &broken), [""; 0]);
}

#[test]
fn counts_of_finished_pods_only_grow() {
    let done = |a: i32, b: Option<i32>| {
        let mut list = vec![json!({"name": "ps1", "count": a})];
        list.extend(b.map(|b| json!({"name": "ps2", "count": b})));
        Value::Array(list)
    };
    let old = with_reclaimable_pods(admitted([3, 3]), done(2, Some(1)));
    assert_eq!(
        texts(
            &with_reclaimable_pods(admitted([3, 3]), done(3, Some(1))),
            &old
        ),
        [""; 0]
    );
    assert_eq!(
        texts(
            &with_reclaimable_pods(admitted([3, 3]), done(1, None)),
            &old
        ),
        [
            "status.reclaimablePods[ps1].count: Invalid value: 1: cannot be less than 2",
            "status.reclaimablePods[ps2]: Required value: cannot be removed",
        ]
    );
    // Of an elastic pod set that was scaled down the count may shrink, or stay for a while.
    let old = elastic(old);
    assert_eq!(
        texts(
            &elastic(with_reclaimable_pods(admitted([1, 3]), done(1, Some(1)))),
            &old
        ),
        [""; 0]
    );
    assert_eq!(
        texts(
            &elastic(with_reclaimable_pods(admitted([1, 3]), done(2, Some(1)))),
            &old
        ),
        [""; 0]
    );
    assert_eq!(
        texts(
            &elastic(with_reclaimable_pods(admitted([1, 3]), done(3, Some(1)))),
            &old
        ),
        ["status.reclaimablePods[ps1].count: Invalid value: 3: should be less or equal to 1"]
    );
    assert_eq!(
        texts(
            &elastic(with_reclaimable_pods(admitted([3, 3]), done(1, Some(1)))),
            &old
        )
        .len(),
        1
    );
    // Without quota they may be removed.
    let mut free = with_reclaimable_pods(admitted([3, 3]), json!([]));
    free["status"].as_object_mut().unwrap().remove("conditions");
    free["status"].as_object_mut().unwrap().remove("admission");
    assert_eq!(
        texts(
            &free,
            &with_reclaimable_pods(admitted([3, 3]), done(2, None))
        ),
        [""; 0]
    );
}

#[test]
fn updates_of_a_ready_check_stay() {
    let check = |state: &str, label: &str, message: &str| {
        let mut workload = admitted([3, 3]);
        workload["status"]["admissionChecks"] = json!([{"name": "ac", "state": state,
            "message": message, "podSetUpdates": [{"name": "ps1", "labels": {"a": label}}]}]);
        workload
    };
    let old = check("Ready", "x", "");
    assert_eq!(texts(&check("Ready", "x", "other"), &old), [""; 0]);
    assert_eq!(texts(&check("Retry", "y", ""), &old), [""; 0]);
    let found = texts(&check("Ready", "y", ""), &old);
    assert!(found[0].starts_with("status.admissionChecks[0].podSetUpdates: Invalid value: ["));
}

#[test]
fn cluster_name_is_one_of_the_nominated() {
    let mut old = admitted([3, 3]);
    old["status"]["nominatedClusterNames"] = json!(["a", "b"]);
    let chosen = |name: &str| {
        let mut workload = admitted([3, 3]);
        workload["status"]["clusterName"] = json!(name);
        workload
    };
    assert_eq!(texts(&chosen("a"), &old), [""; 0]);
    assert_eq!(
        texts(&chosen("c"), &old),
        [
            "status.clusterName: Invalid value: \"c\": when setting clusterName it must be one of the nominatedClusterNames"
        ]
    );
    let mut slice = chosen("c");
    slice["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-replacement-for"] =
        json!("ns/w");
    assert_eq!(texts(&slice, &old), [""; 0]);
}

#[test]
fn admission_gates_are_only_removed() {
    let gated = |value: &str| {
        let mut workload = admitted([3, 3]);
        workload["metadata"]["annotations"]["kueue.x-k8s.io/admission-gated-by"] = json!(value);
        workload
    };
    let path = "metadata.annotations[kueue.x-k8s.io/admission-gated-by]";
    let (none, both) = (admitted([3, 3]), gated("a.io/b,c.io/d"));
    for (new, old) in [
        (&none, &both),
        (&gated("c.io/d"), &both),
        (&gated("c.io/d,a.io/b"), &both),
    ] {
        assert_eq!(texts(new, old), [""; 0]);
    }
    assert_eq!(
        texts(&both, &none),
        [format!(
            "{path}: Forbidden: cannot add admission gate after creation"
        )]
    );
    assert_eq!(
        texts(&gated("a.io/b,e.io/f"), &both),
        [format!(
            "{path}: Forbidden: can only remove gates, not add new ones"
        )]
    );
}
