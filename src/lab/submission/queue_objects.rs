//! The objects of a cluster that the Workload of a job depends on.

use kube::api::{ApiResource, GroupVersionKind};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_explain::ClusterLists;
use kueue_lab_simulation::simulate::PriorityClass;
use kueue_lab_yaml::closest;
use serde_json::{Value, json};

use super::submission_error::SubmissionError;

/// The kinds, in the order in which they are created.
const KINDS: [(&str, &str, &str); 9] = [
    ("", "v1", "Namespace"),
    ("", "v1", "LimitRange"),
    ("node.k8s.io", "v1", "RuntimeClass"),
    ("scheduling.k8s.io", "v1", "PriorityClass"),
    ("kueue.x-k8s.io", "v1beta2", "WorkloadPriorityClass"),
    ("kueue.x-k8s.io", "v1beta2", "Topology"),
    ("kueue.x-k8s.io", "v1beta2", "ResourceFlavor"),
    ("kueue.x-k8s.io", "v1beta2", "ClusterQueue"),
    ("kueue.x-k8s.io", "v1beta2", "LocalQueue"),
];

/// Reads these objects, without their status. ClusterQueues admit nothing.
///
/// # Errors
/// A kind cannot be listed for another reason than a missing right, which is recorded in `lists`.
pub async fn queue_objects(lists: &mut ClusterLists<'_>) -> Result<Vec<Value>, SubmissionError> {
    let mut objects = Vec::new();
    for (group, version, kind) in KINDS {
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk(&gvk);
        for object in lists.dynamic_if_served(&resource).await? {
            let mut value = serde_json::to_value(&object)?;
            value["apiVersion"] = json!(resource.api_version);
            value["kind"] = json!(kind);
            value["metadata"] = json!({
                "name": object.metadata.name,
                "namespace": object.metadata.namespace,
                "labels": object.metadata.labels,
                "annotations": object.metadata.annotations,
            });
            if let Some(fields) = value.as_object_mut() {
                fields.remove("status");
            }
            if kind == "ClusterQueue" {
                value["spec"]["stopPolicy"] = json!("Hold");
            }
            objects.push(value);
        }
    }
    Ok(objects)
}

/// The WorkloadPriorityClasses among queue objects.
pub fn priority_classes(objects: &[Value]) -> Vec<PriorityClass> {
    let classes = objects
        .iter()
        .filter(|object| object["kind"] == "WorkloadPriorityClass");
    let classes = classes.filter_map(|class| {
        Some(PriorityClass {
            name: class["metadata"]["name"].as_str()?.to_owned(),
            value: i32::try_from(class["value"].as_i64()?).ok()?,
        })
    });
    classes.collect()
}

/// A suggestion for the LocalQueue of a Workload, if its namespace has no such one.
pub fn unknown_local_queue(wl: &Workload, objects: &[Value]) -> Option<String> {
    let namespace = wl.metadata.namespace.as_deref().unwrap_or_default();
    let name = wl.spec.queue_name.as_str();
    let all = objects
        .iter()
        .filter(|object| object["kind"] == "LocalQueue");
    let own = all.filter(|object| object["metadata"]["namespace"] == namespace);
    let own: Vec<&str> = own
        .filter_map(|object| object["metadata"]["name"].as_str())
        .collect();
    if name.is_empty() || own.contains(&name) {
        return None;
    }
    Some(match closest(name, own.iter().copied()) {
        Some(guess) => format!("did you mean the LocalQueue {guess}?"),
        None if own.is_empty() => format!("the namespace {namespace} has no LocalQueue"),
        None => format!(
            "the LocalQueues of the namespace {namespace} are {}",
            own.join(", ")
        ),
    })
}
