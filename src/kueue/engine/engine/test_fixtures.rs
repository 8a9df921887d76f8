//! Objects and times for tests of the engine.

use std::sync::Arc;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::config::EngineConfig;
use crate::engine::{Engine, EngineObject, ObjectChange};
use kueue_lab_api::v1beta2::Workload;

/// An object from its JSON form.
pub(super) fn from_json<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// The time `second` seconds after the start of a test.
pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_785_585_600 + second).unwrap()
}

/// Two flavors, the first with an untolerated taint, and three ClusterQueues of a cohort.
pub(super) fn lab(config: EngineConfig) -> Engine {
    let mut engine = Engine::new(config);
    engine.apply(
        ObjectChange::Upsert(EngineObject::Namespace(from_json(
            json!({"metadata": {"name": "ns"}}),
        ))),
        at(0),
    );
    let taint = json!([{"key": "spot", "value": "yes", "effect": "NoSchedule"}]);
    for (name, taints) in [("spot", taint), ("on-demand", json!([]))] {
        let spec = json!({"nodeTaints": taints});
        engine.apply(
            ObjectChange::Upsert(EngineObject::ResourceFlavor(from_json(
                json!({"metadata": {"name": name}, "spec": spec}),
            ))),
            at(0),
        );
    }
    for name in ["a", "b", "c"] {
        let flavor = |name: &str| json!({"name": name, "resources": [{"name": "cpu", "nominalQuota": "10"}]});
        let spec = json!({
            "cohortName": "all", "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor("spot"), flavor("on-demand")]}],
            "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        });
        let queue = json!({"metadata": {"name": name}, "spec": spec});
        engine.apply(
            ObjectChange::Upsert(EngineObject::ClusterQueue(from_json(queue))),
            at(0),
        );
        let local =
            json!({"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": name}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::LocalQueue(from_json(local))),
            at(0),
        );
    }
    engine
}

/// A Workload, admitted with flavor on-demand or pending.
pub(super) fn workload(name: &str, queue: &str, cpu: i64, admitted: bool) -> Arc<Workload> {
    let created = at(-1_000).to_string();
    let mut wl = json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": created},
        "spec": {"queueName": queue, "active": true, "podSets": [{"name": "main", "count": 1, "template": {"spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu.to_string()}}}]}}}]},
    });
    if admitted {
        let condition = |type_: &str| json!({"type": type_, "status": "True", "reason": type_, "message": "", "lastTransitionTime": created});
        wl["status"] = json!({
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
            "admission": {"clusterQueue": queue, "podSetAssignments": [{"name": "main", "count": 1,
                "flavors": {"cpu": "on-demand"}, "resourceUsage": {"cpu": cpu.to_string()}}]},
        });
    }
    Arc::new(from_json(wl))
}
