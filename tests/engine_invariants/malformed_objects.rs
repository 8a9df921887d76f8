//! Malformed objects in any order.

use jiff::SignedDuration;
use kueue_lab_engine::config::FairSharing;
use kueue_lab_engine::engine::{DeletedObject, EngineObject, ObjectChange};
use kueue_lab_engine::workload::predicates;
use kueue_lab_engine::{Engine, EngineConfig};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::engine_fixture::typed;

const AMOUNTS: [&str; 16] = [
    "0",
    "1",
    "-5",
    "1.5m",
    "1e30",
    "-1e30",
    "100n",
    "9223372036854775807",
    "-9223372036854775808",
    "8Ei",
    "9999999999E",
    "0.000000001",
    "1Ki",
    "",
    "rubbish",
    "1e-30",
];
const COUNTS: [i32; 6] = [0, 1, 3, -1, i32::MAX, i32::MIN];
const RESOURCES: [&str; 4] = ["cpu", "memory", "pods", "example.com/gpu"];

/// The values that objects are made of.
pub(crate) type MalformedObjects = (bool, Vec<(u8, [u8; 12])>);

pub(crate) fn malformed_objects() -> impl Strategy<Value = MalformedObjects> {
    (
        any::<bool>(),
        proptest::collection::vec((0..12u8, any::<[u8; 12]>()), 1..40),
    )
}

fn pick<'a, T: ?Sized>(from: &'a [&'a T], n: u8) -> &'a T {
    from[usize::from(n) % from.len()]
}

fn amount(n: u8) -> &'static str {
    AMOUNTS[usize::from(n) % AMOUNTS.len()]
}

fn count(n: u8) -> i32 {
    COUNTS[usize::from(n) % COUNTS.len()]
}

fn groups(n: &[u8]) -> Value {
    let quota = |n: &[u8]| {
        let mut quota = json!({"name": pick(&RESOURCES, n[0]), "nominalQuota": amount(n[1])});
        if n[2].is_multiple_of(3) {
            quota["borrowingLimit"] = json!(amount(n[2] / 3));
        }
        if n[3].is_multiple_of(3) {
            quota["lendingLimit"] = json!(amount(n[3] / 3));
        }
        quota
    };
    json!([{
        "coveredResources": [pick(&RESOURCES, n[0])],
        "flavors": [
            {"name": format!("flavor-{}", n[4] % 4), "resources": [quota(n)]},
            {"name": format!("flavor-{}", n[5] % 4), "resources": [quota(&n[1..])]},
        ],
    }])
}

fn workload(n: &[u8; 12]) -> Value {
    let requests =
        json!({pick(&RESOURCES, n[0]): amount(n[1]), pick(&RESOURCES, n[2]): amount(n[3])});
    let mut pods = json!({
        "name": "main", "count": count(n[4]),
        "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}},
    });
    if n[5].is_multiple_of(4) {
        pods["minCount"] = json!(count(n[5] / 4));
    }
    match n[6] % 6 {
        0 => {
            pods["topologyRequest"] =
                json!({"required": pick(&["rack", "kubernetes.io/hostname", "none"], n[7])})
        }
        1 => {
            pods["topologyRequest"] = json!({
                "preferred": "rack", "podSetSliceRequiredTopology": "rack", "podSetSliceSize": count(n[7]),
            })
        }
        2 => pods["topologyRequest"] = json!({"unconstrained": true}),
        _ => {}
    }
    let sets = if n[8].is_multiple_of(5) {
        json!([pods, pods])
    } else {
        json!([pods])
    };
    let mut wl = json!({
        "metadata": {"name": format!("wl-{}", n[9] % 8), "namespace": "ns", "uid": format!("wl-{}", n[9] % 8)},
        "spec": {"queueName": format!("local-{}", n[10] % 4), "podSets": sets, "active": !n[8].is_multiple_of(7),
            "priority": i32::from(n[7]) - 100},
    });
    if n[11].is_multiple_of(3) {
        // Holds quota that was never reserved.
        wl["status"] = json!({
            "conditions": [
                {"type": "QuotaReserved", "status": "True", "reason": "r", "message": "", "lastTransitionTime": "2026-08-01T11:00:00Z"},
                {"type": pick(&["Admitted", "Evicted", "Finished"], n[11]), "status": "True", "reason": "r", "message": "", "lastTransitionTime": "2026-08-01T11:00:00Z"},
            ],
            "admission": {"clusterQueue": format!("queue-{}", n[10] % 4), "podSetAssignments": [{
                "name": pick(&["main", "other"], n[5]), "count": count(n[4]),
                "flavors": {pick(&RESOURCES, n[0]): format!("flavor-{}", n[6] % 5)},
                "resourceUsage": {pick(&RESOURCES, n[0]): amount(n[1])},
            }]},
            "reclaimablePods": [{"name": "main", "count": count(n[3])}],
        });
    }
    wl
}

fn object(kind: u8, n: &[u8; 12]) -> Value {
    match kind {
        0 => json!({"metadata": {"name": format!("flavor-{}", n[0] % 4)}, "spec": {
            "nodeLabels": {"pool": "a"},
            "topologyName": if n[1].is_multiple_of(3) { json!("dc") } else { Value::Null },
            "nodeTaints": if n[2].is_multiple_of(4) { json!([{"key": "k", "effect": "NoSchedule"}]) } else { json!([]) },
        }}),
        1 => {
            let mut cohort = json!({"metadata": {"name": format!("cohort-{}", n[6] % 4)}, "spec": {"resourceGroups": groups(n)}});
            if !n[7].is_multiple_of(4) {
                cohort["spec"]["parentName"] = json!(format!("cohort-{}", n[8] % 4));
            }
            cohort
        }
        2 | 3 => {
            let mut queue = json!({"metadata": {"name": format!("queue-{}", n[6] % 4)}, "spec": {
                "namespaceSelector": {},
                "resourceGroups": groups(n),
                "queueingStrategy": pick(&["StrictFIFO", "BestEffortFIFO"], n[7]),
                "preemption": {
                    "withinClusterQueue": pick(&["Never", "LowerPriority", "LowerOrNewerEqualPriority"], n[8]),
                    "reclaimWithinCohort": pick(&["Never", "LowerPriority", "Any"], n[9]),
                    "borrowWithinCohort": {"policy": pick(&["Never", "LowerPriority"], n[10])},
                },
                "fairSharing": {"weight": amount(n[3] % 10)},
                "stopPolicy": pick(&["None", "None", "Hold", "HoldAndDrain"], n[11]),
            }});
            if !n[4].is_multiple_of(5) {
                queue["spec"]["cohortName"] = json!(format!("cohort-{}", n[5] % 4));
            }
            if n[2].is_multiple_of(6) {
                queue["spec"]["admissionChecksStrategy"] =
                    json!({"admissionChecks": [{"name": "missing"}]});
            }
            queue
        }
        4 => {
            json!({"metadata": {"name": format!("local-{}", n[0] % 4), "namespace": "ns"}, "spec": {
                "clusterQueue": format!("queue-{}", n[1] % 5),
                "stopPolicy": pick(&["None", "None", "Hold", "HoldAndDrain"], n[2]),
                "fairSharing": {"weight": amount(n[3] % 10)},
            }})
        }
        5 => json!({"metadata": {"name": format!("node-{}", n[0] % 4), "labels": {
                "pool": "a", "rack": format!("r{}", n[1] % 2), "kubernetes.io/hostname": format!("node-{}", n[0] % 4)}},
            "status": {
                "allocatable": {"cpu": amount(n[2]), "memory": amount(n[3]), "pods": amount(n[4] % 9)},
                "conditions": [{"type": "Ready", "status": "True"}]}}),
        6 => json!({"metadata": {"name": format!("pod-{}", n[0] % 4), "namespace": "ns"}, "spec": {
            "nodeName": format!("node-{}", n[1] % 5),
            "containers": [{"name": "c", "resources": {"requests": {"cpu": amount(n[2])}}}]}}),
        _ => workload(n),
    }
}

/// Adds all objects to an engine and runs cycles in between.
pub(crate) fn run((fair, objects): &MalformedObjects) {
    let mut engine = Engine::new(EngineConfig {
        fair_sharing: fair.then(FairSharing::default),
        ..Default::default()
    });
    let mut now = "2026-08-01T12:00:00Z".parse().unwrap();
    engine.apply(
        ObjectChange::Upsert(EngineObject::Namespace(typed(
            json!({"metadata": {"name": "ns"}}),
        ))),
        now,
    );
    let levels = json!([{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]);
    let topology = json!({"metadata": {"name": "dc"}, "spec": {"levels": levels}});
    engine.apply(
        ObjectChange::Upsert(EngineObject::Topology(typed(topology))),
        now,
    );
    for (kind, n) in objects {
        let object = object(*kind, n);
        let object = match kind {
            0 => EngineObject::ResourceFlavor(typed(object)),
            // A Cohort may close a cycle.
            1 => EngineObject::Cohort(typed(object)),
            2 | 3 => EngineObject::ClusterQueue(typed(object)),
            4 => EngineObject::LocalQueue(typed(object)),
            5 => EngineObject::Node(typed(object)),
            6 => EngineObject::Pod(typed(object)),
            _ => EngineObject::Workload(typed(object)),
        };
        engine.apply(ObjectChange::Upsert(object), now);
        if n[0].is_multiple_of(3) {
            now += SignedDuration::from_secs(2);
            engine.advance(now);
            engine.cycle(now);
        }
        let keys: Vec<_> = engine.workloads().map(|wl| predicates::key(wl)).collect();
        for key in keys.iter().filter(|_| n[1].is_multiple_of(8)) {
            let _ = engine.explain(key, now);
        }
        let name = |of: &str| format!("{of}-{}", n[3] % 4);
        let deleted = match n[2] % 16 {
            0 => Some(DeletedObject::ClusterQueue(name("queue"))),
            1 => Some(DeletedObject::Cohort(name("cohort"))),
            2 => Some(DeletedObject::ResourceFlavor(name("flavor"))),
            3 => keys.first().cloned().map(DeletedObject::Workload),
            4 => Some(DeletedObject::Node(name("node"))),
            _ => None,
        };
        if let Some(deleted) = deleted {
            engine.apply(ObjectChange::Delete(deleted), now);
        }
        for i in 0..4 {
            let queue = format!("queue-{i}");
            let _ = engine.cluster_queue_usage(&queue);
            let _ = engine.active_condition(&queue);
            let _ = engine.pending_positions(&queue, 0, 10);
            let _ = engine.cohort_weighted_share(&format!("cohort-{i}"));
        }
    }
}
