//! States and workloads for tests.

use std::sync::Arc;

use jiff::Timestamp;
use kueue_lab_api::load::structural_defaults;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::engine::{EngineObject, ObjectChange};
use kueue_lab_engine::{Engine, EngineConfig};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{AdmittingChanges, admitting_changes, simulate};

pub(super) fn at() -> Timestamp {
    "2026-08-01T12:00:00Z".parse().unwrap()
}

pub(super) fn typed<T: DeserializeOwned>(kind: &str, mut object: Value) -> T {
    object["apiVersion"] = json!("kueue.x-k8s.io/v1beta2");
    object["kind"] = json!(kind);
    structural_defaults(&mut object);
    serde_json::from_value(object).unwrap()
}

/// An engine with flavors and the ClusterQueues of these specs, each with a LocalQueue of its name.
pub(super) fn engine_with(flavors: &[&str], queues: &[(&str, Value)]) -> Engine {
    let mut engine = Engine::new(EngineConfig::default());
    engine.apply(
        ObjectChange::Upsert(EngineObject::Namespace(
            serde_json::from_value(json!({"metadata": {"name": "ns"}})).unwrap(),
        )),
        at(),
    );
    for name in flavors {
        let flavor = json!({"metadata": {"name": name}, "spec": {}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::ResourceFlavor(Arc::new(typed(
                "ResourceFlavor",
                flavor,
            )))),
            at(),
        );
    }
    for (name, spec) in queues {
        let mut queue = json!({"metadata": {"name": name}, "spec": spec});
        queue["spec"]["namespaceSelector"] = json!({});
        engine.apply(
            ObjectChange::Upsert(EngineObject::ClusterQueue(Arc::new(typed(
                "ClusterQueue",
                queue,
            )))),
            at(),
        );
        let local =
            json!({"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": name}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::LocalQueue(Arc::new(typed(
                "LocalQueue",
                local,
            )))),
            at(),
        );
    }
    engine
}

/// The spec of a ClusterQueue with this number of CPUs, in a cohort, that reclaims.
pub(super) fn queue_of(cohort: &str, quota: i64) -> Value {
    let flavors = json!([{"name": "f", "resources": [{"name": "cpu", "nominalQuota": quota}]}]);
    json!({
        "cohortName": cohort,
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
    })
}

/// ClusterQueues with this number of CPUs each, in a cohort, that reclaim.
pub(super) fn engine(queues: &[(&str, i64)]) -> Engine {
    let queues = queues
        .iter()
        .map(|(name, quota)| (*name, queue_of("all", *quota)));
    let queues: Vec<(&str, Value)> = queues.collect();
    engine_with(&["f"], &queues)
}

/// A workload of one pod with these requests.
pub(super) fn requesting(name: &str, queue: &str, requests: Value, priority: i32) -> Arc<Workload> {
    let template =
        json!({"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}});
    let wl = json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": at().to_string()},
        "spec": {"queueName": queue, "priority": priority, "podSets": [{"name": "main", "count": 1, "template": template}]},
    });
    Arc::new(typed("Workload", wl))
}

pub(super) fn workload(name: &str, queue: &str, cpu: i64, priority: i32) -> Arc<Workload> {
    requesting(name, queue, json!({"cpu": cpu.to_string()}), priority)
}

/// The engine after these workloads were submitted and scheduled, one after the other.
pub(super) fn running(mut engine: Engine, workloads: &[Arc<Workload>]) -> Engine {
    for wl in workloads {
        engine.apply(ObjectChange::upsert(wl.clone()), at());
        let mut driver = crate::EngineDriver::new(engine, false);
        driver.schedule(at());
        engine = driver.engine().clone();
    }
    engine
}

pub(super) fn searched(engine: &Engine, workloads: &[Arc<Workload>]) -> AdmittingChanges {
    let simulation = simulate(engine, false, workloads, at());
    admitting_changes(engine, false, workloads, &[], &simulation, at())
}

pub(super) fn changes(engine: &Engine, wl: &Arc<Workload>) -> Vec<String> {
    let found = searched(engine, std::slice::from_ref(wl)).admitting_changes;
    found.iter().map(ToString::to_string).collect()
}
