//! Counts of specs bound nothing: with the largest number in any integer of any kind, a reconcile plans as many
//! child objects as it may create, and the following ones continue.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::crds;
use super::observed::{ObjectLookup, Observed};
use super::reconcile_plan::ReconcilePlan;
use super::registry::{OPERATORS, Operator};
use kueue_lab_clock::Entropy;
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::{BURST_REPLICAS, ObjectKey};

/// The values of an integer.
const VALUES: [i64; 4] = [i64::MAX, i32::MAX as i64, -1, 0];
/// Child objects that do not depend on a count, such as services.
const SINGLE_OBJECTS: usize = 8;

/// A runtime of TrainJobs; nothing else exists.
struct Runtimes;

impl ObjectLookup for Runtimes {
    fn find(&self, kind: &str, _: &ObjectKey) -> Option<Arc<DynamicObject>> {
        let trainer = json!({"name": "node", "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"template": template()},
        }});
        let runtime = json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": {"name": "runtime"},
            "spec": {"mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": [trainer]}}},
        });
        (kind == "ClusterTrainingRuntime").then(|| Arc::new(object(&runtime)))
    }

    fn pod(&self, _: &ObjectKey) -> Option<Arc<Pod>> {
        None
    }
}

fn object(value: &Value) -> DynamicObject {
    DynamicObject::from_value(value).unwrap()
}

fn template() -> Value {
    json!({"spec": {"containers": [{"name": "node", "image": "i"}]}})
}

/// A spec of the kind with all objects that have counts.
fn spec(kind: &str) -> Value {
    let replicas = || json!({"template": template()});
    let ray = || {
        json!({
            "headGroupSpec": {"rayStartParams": {}, "template": template()},
            "workerGroupSpecs": [{"groupName": "w", "rayStartParams": {}, "template": template()}],
        })
    };
    let job_set = || json!({"replicatedJobs": [{"name": "a", "template": {"spec": replicas()}}]});
    let task = || json!({"steps": [{"name": "s", "image": "i"}]});
    match kind {
        "RayCluster" => ray(),
        "RayJob" => json!({"entrypoint": "python", "rayClusterSpec": ray()}),
        "RayService" => json!({"rayClusterConfig": ray()}),
        "JobSet" => job_set(),
        "PyTorchJob" => {
            json!({"pytorchReplicaSpecs": {"Master": replicas(), "Worker": replicas()}})
        }
        "TFJob" => json!({"tfReplicaSpecs": {"PS": replicas(), "Worker": replicas()}}),
        "XGBoostJob" => json!({"xgbReplicaSpecs": {"Master": replicas(), "Worker": replicas()}}),
        "PaddleJob" => json!({"paddleReplicaSpecs": {"Master": replicas(), "Worker": replicas()}}),
        "JAXJob" => json!({"jaxReplicaSpecs": {"Worker": replicas()}}),
        "MPIJob" => json!({"mpiReplicaSpecs": {"Launcher": replicas(), "Worker": replicas()}}),
        "TrainJob" => json!({"runtimeRef": {"name": "runtime"}}),
        "LeaderWorkerSet" => json!({"leaderWorkerTemplate": {"workerTemplate": template()}}),
        "AppWrapper" => json!({"components": [
            {"template": {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                "metadata": {"name": "s"}, "spec": job_set()}},
        ]}),
        "SparkApplication" => json!({"driver": {}, "executor": {}}),
        "InferenceService" => json!({"predictor": {"model": {"modelFormat": {"name": "sklearn"}}}}),
        "Notebook" => json!({"template": template()}),
        "PipelineRun" => json!({"pipelineSpec": {"tasks": [{"name": "a", "taskSpec": task()}]}}),
        "TaskRun" => json!({"taskSpec": task()}),
        "Workflow" => json!({"entrypoint": "m", "templates": [
            {"name": "m", "container": {"image": "i"}},
        ]}),
        "Sandbox" => json!({"podTemplate": template()}),
        other => panic!("a spec of {other} is missing"),
    }
}

/// The integers of a schema, as JSON pointers into `value`: of lists those of the first item, of maps those of
/// the entries of `value`.
fn integers(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    if schema["type"] == "integer" || schema["x-kubernetes-int-or-string"] == true {
        found.push(path.to_owned());
    }
    for (name, field) in super::child_objects::fields(&schema["properties"]) {
        integers(field, &value[name], &format!("{path}/{name}"), found);
    }
    if schema["items"].is_object() {
        integers(&schema["items"], &value[0], &format!("{path}/0"), found);
    }
    for (name, entry) in super::child_objects::fields(value) {
        if schema["additionalProperties"].is_object() {
            let schema = &schema["additionalProperties"];
            integers(schema, entry, &format!("{path}/{name}"), found);
        }
    }
}

/// Sets a value, and the objects and lists above it.
fn set(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for name in path.split('/').skip(1) {
        if name == "0" {
            if !at.is_array() {
                *at = json!([null]);
            }
            at = &mut at[0];
        } else {
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[name];
        }
    }
    *at = value;
}

/// The created objects of a kind, as the API server returns them.
fn created<K: Codec>(all: &[Value], kind: &str) -> Vec<Arc<K>> {
    let of_kind = all.iter().filter(|child| child["kind"] == kind);
    let stored = of_kind.enumerate().map(|(index, child)| {
        let mut child = child.clone();
        let meta = &mut child["metadata"];
        meta["uid"] = json!(format!("{kind}-{index}"));
        if meta["name"].is_null() {
            meta["name"] = json!(format!("{}{index}", meta["generateName"].as_str().unwrap()));
        }
        K::from_value(&child).ok()
    });
    stored.flatten().map(Arc::new).collect()
}

/// Reconciles an object, with the objects that the reconciles before created.
fn reconcile(
    operator: &Operator,
    object: &DynamicObject,
    children: &[Value],
    burst: usize,
) -> ReconcilePlan {
    let entropy = Entropy::seeded(1);
    let others = ["StatefulSet", "JobSet", "RayCluster", "TaskRun"];
    let observed = Observed {
        runtime: &kueue_lab_kubelet::SimpleRuntime,
        object,
        pods: created(children, "Pod"),
        jobs: created::<Job>(children, "Job"),
        children: others
            .iter()
            .flat_map(|kind| created(children, kind))
            .collect(),
        lookup: &Runtimes,
        now: Timestamp::UNIX_EPOCH,
        burst_replicas: burst,
        entropy: &entropy,
    };
    operator.plan(&observed)
}

/// Reconciles an object three times. Returns the number of objects that each created.
fn reconciles(operator: &Operator, object: &Value, burst: usize) -> Vec<usize> {
    let mut object = self::object(object);
    let mut children: Vec<Value> = Vec::new();
    let plans = (0..3).map(|_| {
        let plan = reconcile(operator, &object, &children, burst);
        assert!(
            plan.created_replicas <= burst,
            "{} {object:?}",
            operator.kind
        );
        assert!(
            plan.create.len() <= burst + SINGLE_OBJECTS,
            "{} {object:?}",
            operator.kind
        );
        let number = plan.create.len();
        children.extend(plan.create);
        if let Some(status) = plan.status {
            object.data["status"] = status;
        }
        number
    });
    plans.collect()
}

fn minimal(operator: &Operator) -> Value {
    let meta = json!({"name": "o", "namespace": "n", "uid": "u"});
    json!({
        "apiVersion": operator.api_version(), "kind": operator.kind, "metadata": meta,
        "spec": spec(operator.kind),
    })
}

#[test]
fn no_integer_of_a_kind_bounds_a_reconcile() {
    for operator in OPERATORS {
        let minimal = minimal(operator);
        let schema = crds::schema(&format!("{}.{}", operator.plural, operator.group)).unwrap();
        let mut paths = Vec::new();
        for part in ["spec", "status"] {
            let path = format!("/{part}");
            integers(
                &schema["properties"][part],
                &minimal[part],
                &path,
                &mut paths,
            );
        }
        for value in VALUES {
            let mut all = minimal.clone();
            for path in &paths {
                let mut one = minimal.clone();
                set(&mut one, path, json!(value));
                reconciles(operator, &one, 10);
                if path.starts_with("/spec") {
                    set(&mut all, path, json!(value));
                }
            }
            reconciles(operator, &all, 10);
        }
    }
}

#[test]
fn a_large_count_is_reached_in_several_reconciles() {
    let counts = [
        (
            "RayCluster",
            "/spec/workerGroupSpecs/0/replicas",
            1_000_000_000,
        ),
        ("JobSet", "/spec/replicatedJobs/0/replicas", 1_000_000),
        (
            "PyTorchJob",
            "/spec/pytorchReplicaSpecs/Worker/replicas",
            2_000_000_000,
        ),
        (
            "MPIJob",
            "/spec/mpiReplicaSpecs/Worker/replicas",
            2_000_000_000,
        ),
    ];
    for (kind, path, value) in counts {
        let operator = OPERATORS.iter().find(|o| o.kind == kind).unwrap();
        let mut object = minimal(operator);
        set(&mut object, path, json!(value));
        if kind == "RayCluster" {
            set(
                &mut object,
                "/spec/workerGroupSpecs/0/maxReplicas",
                json!(value),
            );
        }
        let created = reconciles(operator, &object, BURST_REPLICAS);
        let at_once = BURST_REPLICAS..=BURST_REPLICAS + SINGLE_OBJECTS;
        assert!(
            created.iter().all(|n| at_once.contains(n)),
            "{kind} {created:?}"
        );
        let few = reconciles(operator, &object, 0);
        assert!(few.iter().all(|n| *n <= SINGLE_OBJECTS), "{kind} {few:?}");
    }
}
