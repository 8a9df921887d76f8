//! Changes of settings that admit workloads.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Node};
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue, ResourceFlavor, Topology, Workload};
use kueue_lab_engine::config::FairSharing;
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::workload::LocalQueueKey;
use kueue_lab_engine::{Engine, EngineConfig};
use serde_json::{Value, json};

use super::test_fixtures::{at, changes, engine, queue_of, running, typed, workload};
use super::{ExplainedWorkload, explain_workload};

fn change_queue(engine: &mut Engine, name: &str, change: impl FnOnce(&mut ClusterQueue)) {
    let mut queue = ClusterQueue::clone(engine.cluster_queue(name).unwrap());
    change(&mut queue);
    engine.apply(ObjectChange::upsert(queue), at());
}

#[test]
fn a_stopped_queue_starts() {
    let hold = typed::<ClusterQueue>("ClusterQueue", json!({"spec": {"stopPolicy": "Hold"}}));
    let hold = hold.spec.stop_policy;
    let mut stopped = engine(&[("q", 4)]);
    change_queue(&mut stopped, "q", |queue| queue.spec.stop_policy = hold);
    let of_queue = "set stopPolicy of ClusterQueue q from Hold to None";
    assert_eq!(changes(&stopped, &workload("w", "q", 4, 0)), [of_queue]);
    // Also of a workload of the cluster.
    let key = kueue_lab_engine::workload::WorkloadKey::new("ns", "w");
    stopped.apply(ObjectChange::upsert(workload("w", "q", 4, 0)), at());
    let explained = explain_workload(&mut stopped.clone(), &[], &key, at());
    let ExplainedWorkload { changes: found, .. } = explained.unwrap();
    assert_eq!(found.admitting_changes[0].to_string(), of_queue);
    let key = LocalQueueKey::new("ns", "q");
    let mut local = LocalQueue::clone(stopped.local_queue(&key).unwrap());
    local.spec.stop_policy = hold;
    stopped.apply(ObjectChange::upsert(local), at());
    assert_eq!(
        changes(&stopped, &workload("x", "q", 1, 9)),
        [format!(
            "set stopPolicy of LocalQueue ns/q from Hold to None, and {of_queue}"
        )]
    );
    assert!(changes(&stopped, &workload("y", "q", 5, 9)).is_empty());
}

/// An engine with the flavors `with-nodes`, of a rack with two nodes of a CPU, and `without-nodes`, of a CPU each.
fn topologies(quota: i64) -> Engine {
    let mut engine = engine(&[]);
    let levels = json!([{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]);
    let topology = json!({"metadata": {"name": "racks"}, "spec": {"levels": levels}});
    let topology: Topology = typed("Topology", topology);
    engine.apply(ObjectChange::upsert(topology), at());
    let names = ["with-nodes", "without-nodes"];
    for name in names {
        let spec = json!({"nodeLabels": {"of": name}, "topologyName": "racks"});
        let flavor = json!({"metadata": {"name": name}, "spec": spec});
        let flavor: ResourceFlavor = typed("ResourceFlavor", flavor);
        engine.apply(ObjectChange::upsert(flavor), at());
    }
    for (node, rack) in [("n1", "r1"), ("n2", "r2")] {
        let labels = json!({"of": "with-nodes", "rack": rack, "kubernetes.io/hostname": node});
        let node = json!({
            "metadata": {"name": node, "labels": labels},
            "status": {"allocatable": {"cpu": "1", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}]},
        });
        let node: Node = serde_json::from_value(node).unwrap();
        engine.apply(ObjectChange::upsert(node), at());
    }
    let quota = json!([{"name": "cpu", "nominalQuota": quota}]);
    let flavors = names.map(|name| json!({"name": name, "resources": quota}));
    let spec = json!({
        "namespaceSelector": {},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
    });
    let queue = json!({"metadata": {"name": "tas"}, "spec": spec});
    let queue: ClusterQueue = typed("ClusterQueue", queue);
    engine.apply(ObjectChange::upsert(queue), at());
    let local =
        json!({"metadata": {"name": "tas", "namespace": "ns"}, "spec": {"clusterQueue": "tas"}});
    let local: LocalQueue = typed("LocalQueue", local);
    engine.apply(ObjectChange::upsert(local), at());
    engine
}

fn with_request(mut wl: Arc<Workload>, pods: i32, request: Value) -> Arc<Workload> {
    let pod_set = &mut Arc::make_mut(&mut wl).spec.pod_sets[0];
    pod_set.count = pods;
    pod_set.topology_request = serde_json::from_value(request).unwrap();
    wl
}

#[test]
fn the_policy_of_flavor_fungibility_for_which_nothing_is_preempted_is_named() {
    let required = json!({"required": "rack"});
    let low = [("low-1", 0), ("low-2", 0)].map(|(name, priority)| {
        with_request(workload(name, "tas", 1, priority), 1, required.clone())
    });
    let engine = running(topologies(2), &low);
    let found = changes(
        &engine,
        &with_request(workload("high", "tas", 1, 10), 1, required),
    );
    let change = "set flavorFungibility of ClusterQueue tas: whenCanPreempt to MayStopSearch; preempts ns/low-";
    assert!(
        found.iter().any(|found| found.starts_with(change)),
        "{found:?}"
    );
}

#[test]
fn a_required_topology_level_becomes_preferred() {
    let wl = with_request(workload("w", "tas", 1, 0), 2, json!({"required": "rack"}));
    let found = changes(&topologies(2), &wl);
    let change = "request the topology level as preferred, not as required";
    assert!(found.iter().any(|found| found == change), "{found:?}");
}

#[test]
fn a_higher_weight_admits_with_fair_sharing() {
    let mut engine = Engine::new(EngineConfig {
        fair_sharing: Some(FairSharing::default()),
        ..EngineConfig::default()
    });
    let namespace = json!({"metadata": {"name": "ns"}});
    let namespace: Namespace = serde_json::from_value(namespace).unwrap();
    engine.apply(ObjectChange::upsert(namespace), at());
    let flavor = json!({"metadata": {"name": "f"}, "spec": {}});
    let flavor: ResourceFlavor = typed("ResourceFlavor", flavor);
    engine.apply(ObjectChange::upsert(flavor), at());
    for (name, quota) in [("a", 0), ("b", 0), ("c", 8)] {
        let mut queue = json!({"metadata": {"name": name}, "spec": queue_of("all", quota)});
        queue["spec"]["namespaceSelector"] = json!({});
        let queue: ClusterQueue = typed("ClusterQueue", queue);
        engine.apply(ObjectChange::upsert(queue), at());
        let local =
            json!({"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": name}});
        let local: LocalQueue = typed("LocalQueue", local);
        engine.apply(ObjectChange::upsert(local), at());
    }
    let held = ["a", "b"]
        .map(|queue| [1, 2, 3, 4].map(|number| workload(&format!("{queue}{number}"), queue, 1, 0)));
    let engine = running(engine, &held.concat());
    let found = changes(&engine, &workload("wanted", "a", 1, 0));
    assert!(
        found.iter().any(|found| found
            .starts_with("raise the fair sharing weight of ClusterQueue a from 1 to ")
            && found.contains("; preempts ns/b")),
        "{found:?}"
    );
}
