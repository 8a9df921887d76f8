//! Kinds and objects, and functions to read them.

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

pub(crate) const KUEUE_API_VERSION: &str = "kueue.x-k8s.io/v1beta2";
pub(crate) const POD_GATE: &str = "kueue.x-k8s.io/admission";
pub(crate) const GPU: &str = "nvidia.com/gpu";

/// A kind: its API version and its name.
pub(crate) type Kind = (&'static str, &'static str);
pub(crate) const WORKLOAD: Kind = (KUEUE_API_VERSION, "Workload");
pub(crate) const CLUSTER_QUEUE: Kind = (KUEUE_API_VERSION, "ClusterQueue");
pub(crate) const LOCAL_QUEUE: Kind = (KUEUE_API_VERSION, "LocalQueue");
pub(crate) const RESOURCE_FLAVOR: Kind = (KUEUE_API_VERSION, "ResourceFlavor");
pub(crate) const WORKLOAD_PRIORITY_CLASS: Kind = (KUEUE_API_VERSION, "WorkloadPriorityClass");
pub(crate) const JOB: Kind = ("batch/v1", "Job");
pub(crate) const POD: Kind = ("v1", "Pod");
pub(crate) const NODE: Kind = ("v1", "Node");
pub(crate) const NAMESPACE: Kind = ("v1", "Namespace");
pub(crate) const LEASE: Kind = ("coordination.k8s.io/v1", "Lease");

/// A kind's API; cluster-wide without a namespace.
pub(crate) fn api(client: &Client, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version) = kind.0.split_once('/').unwrap_or(("", kind.0));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind.1));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// `status/reason` of a condition, if it exists.
pub(crate) fn condition(object: &Value, wanted: &str) -> String {
    let found = find_condition(object, wanted);
    found.map_or_else(String::new, |c| {
        let text = |field: &str| c[field].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("status"), text("reason"))
    })
}

/// A condition's message.
pub(crate) fn message(object: &Value, wanted: &str) -> String {
    let found = find_condition(object, wanted);
    let message = found.and_then(|c| c["message"].as_str());
    message.unwrap_or_default().to_owned()
}

fn find_condition<'a>(object: &'a Value, wanted: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|c| c["type"] == wanted)
}

/// Whether a condition is true.
pub(crate) fn is_condition_true(object: &Value, wanted: &str) -> bool {
    condition(object, wanted).starts_with("True/")
}

/// The name of an object.
pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Whether another object owns this one.
pub(crate) fn is_owned_by(object: &Value, owner: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let uid = &owner["metadata"]["uid"];
    owners.into_iter().flatten().any(|o| o["uid"] == *uid)
}

/// An integer, which the API writes as string or number.
pub(crate) fn as_integer(value: &Value) -> i64 {
    let text = value.as_str().map(str::parse::<i64>);
    value
        .as_i64()
        .or_else(|| text.and_then(Result::ok))
        .unwrap_or_default()
}

/// A container that requests GPUs and runs for some seconds.
pub(crate) fn pod_spec(gpus: u32, seconds: u32) -> Value {
    let amounts = json!({GPU: gpus.to_string()});
    json!({
        "restartPolicy": "Never",
        // An evicted pod terminates at once.
        "terminationGracePeriodSeconds": 0,
        "containers": [{
            "name": "main", "image": "busybox:1.37", "command": ["sleep", seconds.to_string()],
            "resources": {"requests": amounts, "limits": amounts},
        }],
    })
}

/// All objects with the lab's labels.
pub(crate) async fn lab_labelled_objects(client: &Client) -> Vec<String> {
    let kinds: [Kind; 10] = [
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
        ),
        (
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
        ),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("apps/v1", "Deployment"),
        ("v1", "Secret"),
        ("v1", "Service"),
        ("v1", "ServiceAccount"),
        NODE,
    ];
    let mut all = Vec::new();
    for kind in kinds {
        let label = match kind {
            NODE => "kueue-lab.dev/managed=true",
            _ => "app.kubernetes.io/managed-by=kueue-lab",
        };
        let params = ListParams::default().labels(label);
        let found = api(client, kind, None).list(&params).await.unwrap();
        for object in found {
            // Finalizers of others, or pods, can delay the deletion.
            if object.metadata.deletion_timestamp.is_none() {
                all.push(format!("{} {}", kind.1, object.metadata.name.unwrap()));
            }
        }
    }
    all
}
