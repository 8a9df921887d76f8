//! The reason of a pending workload in the UI is that of `explain`: the engine's value, read back from
//! the condition.

use std::sync::Arc;

use jiff::Timestamp;
use kueue_lab_engine::engine::{EngineObject, ObjectChange};
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_engine::{Engine, EngineConfig};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::derived::DerivedData;
use super::import::import_objects;
use super::workload::status_reason;
use super::{ClusterData, ObjectKey};
use kueue_lab_api::v1beta2::Workload;

const NOW: &str = "2026-03-02T12:10:00Z";

fn typed<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap()
}

/// Flavors with and without a taint, and ClusterQueues: one to run in, one stopped, one with a
/// missing flavor.
fn queues() -> Vec<Value> {
    let taint = json!([{"key": "spot", "value": "yes", "effect": "NoSchedule"}]);
    let quota = |cpu: u32| json!([{"name": "cpu", "nominalQuota": cpu.to_string()}]);
    let queue = |name: &str, stop: &str, flavors: Value| {
        json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
            "namespaceSelector": {}, "stopPolicy": stop,
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}})
    };
    let local = |name: &str, queue: &str, stop: &str| {
        json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": name, "namespace": "ns"},
            "spec": {"clusterQueue": queue, "stopPolicy": stop}})
    };
    let flavor = |name: &str, taints: Value| {
        json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name},
            "spec": {"nodeLabels": {"tier": name}, "nodeTaints": taints}})
    };
    let two = json!([{"name": "spot", "resources": quota(10)}, {"name": "on-demand", "resources": quota(20)}]);
    let missing = json!([{"name": "no-such-flavor", "resources": quota(1)}]);
    vec![
        flavor("spot", taint),
        flavor("on-demand", json!([])),
        queue("cq", "None", two.clone()),
        queue("stopped", "Hold", two),
        queue("broken", "None", missing),
        local("lq", "cq", "None"),
        local("lq-hold", "cq", "Hold"),
        local("lq-stopped", "stopped", "None"),
        local("lq-broken", "broken", "None"),
        local("lq-nowhere", "nowhere", "None"),
    ]
}

fn workload(queue: &str, resource: &str, amount: u32, edit: impl FnOnce(&mut Value)) -> Value {
    let mut wl = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"namespace": "ns", "name": "wl", "uid": "wl", "creationTimestamp": "2026-03-02T12:00:00Z"},
        "spec": {"queueName": queue, "active": true, "podSets": [{"name": "main", "count": 2, "template": {"spec":
            {"containers": [{"name": "c", "resources": {"requests": {resource: amount.to_string()}}}]}}}]},
        "status": {},
    });
    edit(&mut wl);
    wl
}

/// A workload that uses 15 of the 20 cpu of `on-demand`.
fn running() -> Value {
    let condition = |type_: &str| {
        json!({"type": type_, "status": "True", "reason": type_, "message": "",
        "lastTransitionTime": "2026-03-02T12:00:00Z"})
    };
    let mut wl = workload("lq", "cpu", 15, |wl| {
        wl["spec"]["podSets"][0]["count"] = json!(1)
    });
    wl["metadata"]["name"] = json!("running");
    wl["metadata"]["uid"] = json!("running");
    wl["status"] = json!({
        "conditions": [condition("QuotaReserved"), condition("Admitted")],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 1,
            "flavors": {"cpu": "on-demand"}, "resourceUsage": {"cpu": "15"}}]},
    });
    wl
}

/// The verdicts of `explain` and of the UI.
fn verdicts(mut wl: Value) -> (String, String) {
    let now: Timestamp = NOW.parse().unwrap();
    let mut engine = Engine::new(EngineConfig::default());
    engine.apply(
        ObjectChange::Upsert(EngineObject::Namespace(typed(
            &json!({"metadata": {"name": "ns"}}),
        ))),
        now,
    );
    let mut objects = queues();
    for object in &mut objects {
        let object = match object["kind"].as_str().unwrap() {
            "ResourceFlavor" => EngineObject::ResourceFlavor(typed(object)),
            "ClusterQueue" => EngineObject::ClusterQueue(typed(object)),
            _ => EngineObject::LocalQueue(typed(object)),
        };
        engine.apply(ObjectChange::Upsert(object), now);
    }
    for object in objects.iter_mut().filter(|o| o["kind"] == "ClusterQueue") {
        let active = engine.active_condition(object["metadata"]["name"].as_str().unwrap());
        let status = if active.active { "True" } else { "False" };
        object["status"] = json!({"conditions": [{"type": "Active", "status": status,
            "reason": active.reason, "message": active.message, "lastTransitionTime": NOW}]});
    }
    engine.apply(
        ObjectChange::Upsert(EngineObject::Workload(Arc::new(typed(&running())))),
        now,
    );
    let typed_wl: Arc<Workload> = Arc::new(typed(&wl));
    engine.apply(ObjectChange::upsert(typed_wl.clone()), now);
    let key = WorkloadKey::new("ns", "wl");
    let explanation = engine.explain(&key, now).unwrap();
    let blocked = engine.quota_reserved_false_condition(&typed_wl);
    let condition = blocked.or_else(|| {
        let decision = explanation.now.as_ref()?;
        let message = decision.inadmissible.message(&Default::default());
        let reason = decision.reason.map_or("", |reason| reason.as_str());
        (!message.is_empty()).then(|| (reason.to_owned(), message))
    });
    if let Some((reason, message)) = condition {
        wl["status"]["conditions"] = json!([{"type": "QuotaReserved", "status": "False",
            "reason": reason, "message": message, "lastTransitionTime": NOW}]);
    }
    objects.extend([wl, running()]);
    let mut data = ClusterData {
        now,
        ..ClusterData::default()
    };
    for update in import_objects(objects).unwrap() {
        data.apply(update);
    }
    let mut derived = DerivedData::default();
    derived.refresh(&data);
    let row = data.workloads.get(&ObjectKey::new("ns", "wl")).unwrap();
    let ui = status_reason(row, &data, &derived).line();
    (explanation.verdict.unwrap().to_string(), ui)
}

#[test]
fn the_ui_says_what_explain_says() {
    let as_it_is = |_: &mut Value| {};
    let cases = [
        (
            "waits: 1 more cpu in on-demand",
            workload("lq", "cpu", 3, as_it_is),
        ),
        (
            "never: does not tolerate the taint spot=yes:NoSchedule of spot; 22 cpu > maximum 20 in on-demand",
            workload("lq", "cpu", 11, as_it_is),
        ),
        (
            "never: 2 nvidia.com/gpu, for which ClusterQueue cq has no quota",
            workload("lq", "nvidia.com/gpu", 1, as_it_is),
        ),
        (
            "never: does not tolerate the taint spot=yes:NoSchedule of spot; selects other nodes than on-demand's",
            workload("lq", "cpu", 1, |wl| {
                wl["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] =
                    json!({"tier": "gold"});
            }),
        ),
        (
            "never: it names no LocalQueue",
            workload("", "cpu", 1, as_it_is),
        ),
        (
            "never: LocalQueue none doesn't exist",
            workload("none", "cpu", 1, as_it_is),
        ),
        (
            "never: ClusterQueue nowhere doesn't exist",
            workload("lq-nowhere", "cpu", 1, as_it_is),
        ),
        (
            "held: LocalQueue lq-hold is inactive",
            workload("lq-hold", "cpu", 1, as_it_is),
        ),
        (
            "held: ClusterQueue stopped is inactive: is stopped",
            workload("lq-stopped", "cpu", 1, as_it_is),
        ),
        (
            "held: ClusterQueue broken is inactive: references missing ResourceFlavor(s): no-such-flavor",
            workload("lq-broken", "cpu", 1, as_it_is),
        ),
    ];
    for (expected, wl) in cases {
        let (explain, ui) = verdicts(wl);
        assert_eq!(explain, expected);
        assert_eq!(ui, expected.replace("nvidia.com/", ""));
    }
}

#[test]
fn fewer_pods_of_a_partial_admission_may_fit() {
    let of = |least: Value| {
        verdicts(workload("lq", "cpu", 11, |wl| {
            wl["spec"]["podSets"][0]["minCount"] = least;
        }))
    };
    let (explain, ui) = of(json!(1));
    assert!(explain.starts_with("waits: "), "{explain}");
    assert!(ui.starts_with("waits: "), "{ui}");
    let (explain, ui) = of(json!(2));
    assert!(explain.starts_with("never: "), "{explain}");
    assert_eq!(ui, explain);
}
