//! GCS fault tolerance of a RayCluster with Redis: the environment of the head, and the finalizer that waits for the
//! Redis cleanup Job.

use std::time::Duration;

use jiff::SignedDuration;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::super::child_objects::{self, label};
use super::super::job_status;
use super::super::observed::Observed;
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::ray_pods::{GROUP, HEAD_GROUP, NODE_TYPE, head_pod};
use kueue_lab_controller_utils::pods::is_deleting;

/// The finalizer of a RayCluster whose storage namespace in Redis is cleaned up after its deletion.
const FINALIZER: &str = "ray.io/gcs-ft-redis-cleanup-finalizer";
/// The finalizer of a RayService, which is deleted after its RayClusters.
const SERVICE_FINALIZER: &str = "ray.io/rayservice-finalizer";
/// Annotation: whether GCS fault tolerance is enabled.
const FT_ENABLED: &str = "ray.io/ft-enabled";
/// Annotation: the storage namespace in Redis.
const STORAGE_NAMESPACE: &str = "ray.io/external-storage-namespace";
/// Annotation: the time in seconds after which the finalizer is removed without the Job.
const DELETION_TIMEOUT: &str = "ray.io/gcs-ft-deletion-timeout";
/// The default of that time.
const DEFAULT_DELETION_TIMEOUT: i64 = 300;
/// The longest name of a Job.
const LONGEST_NAME: usize = 63;

/// Whether an object has a finalizer of KubeRay.
pub(in super::super) fn has_finalizer(object: &DynamicObject) -> bool {
    let mut finalizers = object.finalizers().iter();
    finalizers.any(|name| name == FINALIZER || name == SERVICE_FINALIZER)
}

/// Whether GCS fault tolerance with Redis is enabled.
fn is_enabled(cluster: &Observed<'_>) -> bool {
    is_enabled_in(cluster.spec(), cluster.object)
}

/// Whether it is enabled by the spec of a RayCluster or the annotations of `object`.
fn is_enabled_in(spec: &Value, object: &DynamicObject) -> bool {
    let options = &spec["gcsFaultToleranceOptions"];
    let annotation = object.annotations().get(FT_ENABLED);
    let is_annotated = annotation.is_some_and(|value| value.eq_ignore_ascii_case("true"));
    (is_annotated || options.is_object()) && options["backend"] != "rocksdb"
}

/// Adds annotation and environment of the storage in Redis to the head pod.
pub(super) fn configure_head(cluster: &Observed<'_>, pod: &mut Value) {
    if !is_enabled(cluster) {
        return;
    }
    let options = &cluster.spec()["gcsFaultToleranceOptions"];
    let namespace = match options["externalStorageNamespace"].as_str() {
        Some(namespace) if !namespace.is_empty() => namespace.to_owned(),
        _ => match cluster.object.annotations().get(STORAGE_NAMESPACE) {
            Some(namespace) => namespace.clone(),
            None => cluster.uid(),
        },
    };
    let annotations = [(FT_ENABLED, "true"), (STORAGE_NAMESPACE, &namespace)];
    child_objects::set_annotations(pod, &annotations);
    let Some(container) = child_objects::items_mut(&mut pod["spec"]["containers"]).first_mut()
    else {
        return;
    };
    let Some(variables) = environment(container) else {
        return;
    };
    let name = "RAY_external_storage_namespace";
    if !variables.iter().any(|variable| variable["name"] == name) {
        variables.push(json!({"name": name, "value": namespace}));
    }
    if !options.is_object() {
        return;
    }
    variables.push(json!({"name": "RAY_REDIS_ADDRESS", "value": options["redisAddress"]}));
    for (field, name) in [
        ("redisUsername", "REDIS_USERNAME"),
        ("redisPassword", "REDIS_PASSWORD"),
    ] {
        if let Value::Object(credential) = &options[field] {
            let mut variable = credential.clone();
            variable.insert("name".into(), name.into());
            variables.push(variable.into());
        }
    }
}

/// The variables of a container.
fn environment(container: &mut Value) -> Option<&mut Vec<Value>> {
    let container = container.as_object_mut()?;
    let variables = container.entry("env").or_insert(Value::Null);
    if variables.is_null() {
        *variables = json!([]);
    }
    variables.as_array_mut()
}

/// The plan of a RayCluster that gets the finalizer, or is deleted and has it. `None` in all other cases.
pub(super) fn reconcile(cluster: &Observed<'_>) -> Option<ReconcilePlan> {
    let has_finalizer = has_finalizer(cluster.object);
    let Some(deleted) = &cluster.object.metadata.deletion_timestamp else {
        // The cluster is started after the finalizer is added.
        let mut finalizers = cluster.object.finalizers().to_vec();
        finalizers.push(FINALIZER.to_owned());
        return (is_enabled(cluster) && !has_finalizer)
            .then(|| set_finalizers(cluster, &finalizers));
    };
    if !has_finalizer {
        return None;
    }
    let finished = || {
        let mut finalizers = cluster.object.finalizers().to_vec();
        finalizers.retain(|name| name != FINALIZER);
        Some(set_finalizers(cluster, &finalizers))
    };
    if !is_enabled(cluster) {
        return finished();
    }
    let mut plan = ReconcilePlan::default();
    let alive = cluster.pods.iter().filter(|pod| !is_deleting(pod));
    plan.delete = alive.map(|pod| ChildReference::of(pod.as_ref())).collect();
    let mut pods = cluster.pods.iter();
    if pods.any(|pod| label(pod, GROUP) == Some(HEAD_GROUP)) {
        // The head still writes to its storage namespace.
        return Some(plan);
    }
    let timeout = cluster.object.annotations().get(DELETION_TIMEOUT);
    let timeout = timeout.and_then(|seconds| seconds.parse::<i64>().ok());
    let timeout = timeout.filter(|seconds| *seconds > 0);
    let timeout = SignedDuration::from_secs(timeout.unwrap_or(DEFAULT_DELETION_TIMEOUT));
    let left = timeout.saturating_sub(cluster.now.duration_since(deleted.0));
    if !left.is_positive() {
        return finished();
    }
    match cluster.jobs.first() {
        Some(job) if job_status::is_finished(job) => return finished(),
        Some(_) => {}
        None => plan.create.push(cleanup_job(cluster)),
    }
    plan.requeue(Duration::try_from(left).unwrap_or_default());
    Some(plan)
}

/// The plan of a RayService with GCS fault tolerance that gets the finalizer, or is deleted and has it. Without fault
/// tolerance the RayClusters are left to the garbage collector.
pub(super) fn reconcile_service(service: &Observed<'_>) -> Option<ReconcilePlan> {
    let mut finalizers = service.object.finalizers().to_vec();
    let has_finalizer = finalizers.iter().any(|name| name == SERVICE_FINALIZER);
    if service.object.metadata.deletion_timestamp.is_none() {
        let is_enabled = is_enabled_in(&service.spec()["rayClusterConfig"], service.object);
        finalizers.push(SERVICE_FINALIZER.to_owned());
        return (is_enabled && !has_finalizer).then(|| set_finalizers(service, &finalizers));
    }
    if !has_finalizer {
        return None;
    }
    let mut clusters = service.children_of_kind("RayCluster").peekable();
    if clusters.peek().is_none() {
        finalizers.retain(|name| name != SERVICE_FINALIZER);
        return Some(set_finalizers(service, &finalizers));
    }
    let alive = clusters.filter(|cluster| cluster.metadata.deletion_timestamp.is_none());
    Some(ReconcilePlan {
        delete: alive
            .map(|cluster| ChildReference::dynamic(cluster))
            .collect(),
        ..ReconcilePlan::default()
    })
}

/// The plan that replaces the finalizers of a RayCluster or RayService.
fn set_finalizers(cluster: &Observed<'_>, finalizers: &[String]) -> ReconcilePlan {
    let types = cluster.object.types.clone().unwrap_or_default();
    let own = ChildReference {
        api_version: "ray.io/v1".into(),
        kind: types.kind,
        name: cluster.name(),
        uid: None,
    };
    // Optimistic lock: finalizers of others must not be lost.
    let version = cluster.object.resource_version();
    let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
    ReconcilePlan {
        patch: vec![(own, patch)],
        ..ReconcilePlan::default()
    }
}

/// The Redis cleanup Job: the Ray container of the head with another program.
fn cleanup_job(cluster: &Observed<'_>) -> Value {
    let mut pod = head_pod(cluster);
    child_objects::set_labels(&mut pod, &[(NODE_TYPE, "redis-cleanup")]);
    let containers = child_objects::items_mut(&mut pod["spec"]["containers"]);
    let mut ray = containers.first().cloned().unwrap_or_else(|| json!({}));
    ray["command"] = json!(["/bin/bash", "-c", "--"]);
    ray["args"] = json!([
        "python -c \"from ray._private.gcs_utils import cleanup_redis_storage; from urllib.parse import urlparse; \
         import os; import sys; redis_address = os.getenv('RAY_REDIS_ADDRESS', '').split(',')[0]; \
         redis_address = redis_address if '://' in redis_address else 'redis://' + redis_address; \
         parsed = urlparse(redis_address); \
         sys.exit(1) if not cleanup_redis_storage(host=parsed.hostname, port=parsed.port, \
         password=os.getenv('REDIS_PASSWORD', parsed.password or ''), use_ssl=parsed.scheme=='rediss', \
         storage_namespace=os.getenv('RAY_external_storage_namespace')) else None\""
    ]);
    let requests = json!({"cpu": "200m", "memory": "256Mi"});
    ray["resources"] = json!({"limits": requests, "requests": requests});
    if let Some(ray) = ray.as_object_mut() {
        ray.remove("livenessProbe");
        ray.remove("readinessProbe");
    }
    if let Some(variables) = environment(&mut ray) {
        variables.push(json!({"name": "RAY_redis_db_connect_retries", "value": "120"}));
        variables.push(json!({"name": "RAY_redis_db_connect_wait_milliseconds", "value": "500"}));
    }
    pod["spec"]["containers"] = json!([ray]);
    pod["spec"]["restartPolicy"] = json!("Never");
    let name = format!("{}-redis-cleanup", cluster.name());
    let name = name
        .get(name.len().saturating_sub(LONGEST_NAME)..)
        .unwrap_or(&name);
    let name = name.trim_start_matches(['-', '.']);
    let (labels, annotations) = (
        pod["metadata"]["labels"].clone(),
        pod["metadata"]["annotations"].clone(),
    );
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": 300,
            "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": pod["spec"],
            },
        },
    })
}
