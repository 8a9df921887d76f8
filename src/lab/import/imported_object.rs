//! Changes an object for the lab: fields of the cluster it comes from are removed.

use std::collections::BTreeSet;

use kueue_lab_json::ValueExt;
use serde_json::{Value, json};

use super::last_applied::upgrade_managed_fields;

/// The label of the nodes of a lab, whose Pods are simulated.
const MANAGED_NODE: &str = "kueue-lab.dev/managed";
/// The annotation with the duration of a Pod's containers.
const RUN_FOR: &str = "kueue-lab.dev/run-for";
/// The duration of containers whose end is not known: ten years.
const FOREVER: &str = "87600h";

/// Removes metadata that only the API server of the cluster understands. `managedFields` stay, except of
/// Pods and nodes: they decide what a later apply changes, with the fields of the last `kubectl apply`.
pub(super) fn strip_metadata(object: &mut Value) {
    let has_many = matches!(object.text("/kind"), "Pod" | "Node");
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    for field in ["resourceVersion", "selfLink"] {
        metadata.remove(field);
    }
    if has_many {
        metadata.remove("managedFields");
    }
    upgrade_managed_fields(object);
}

/// Removes owner references to objects that are not imported: the garbage collector would delete the
/// object.
pub(super) fn strip_owners(object: &mut Value, imported: &BTreeSet<String>) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    let Some(owners) = metadata
        .get_mut("ownerReferences")
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    owners.retain(|owner| imported.contains(owner.text("/uid")));
    if owners.is_empty() {
        metadata.remove("ownerReferences");
    }
}

/// Whether a node is one of a lab.
pub(super) fn is_lab_node(node: &Value) -> bool {
    node.label(MANAGED_NODE) == Some("true")
}

/// A node without the label that gives it to a lab's node pools, and without its list of images.
pub(super) fn prepare_node(node: &mut Value) {
    if let Some(labels) = node["metadata"]["labels"].as_object_mut() {
        labels.remove(MANAGED_NODE);
    }
    if let Some(status) = node["status"].as_object_mut() {
        for field in ["images", "volumesAttached", "volumesInUse"] {
            status.remove(field);
        }
    }
}

/// Whether a Pod has ended.
pub(super) fn is_terminal(pod: &Value) -> bool {
    matches!(pod.text("/status/phase"), "Succeeded" | "Failed")
}

/// Lets the containers of a Pod run on that real nodes run: the lab does not know when they end.
pub(super) fn keep_running(pod: &mut Value) {
    let is_known = pod
        .at("/metadata/annotations")
        .get(RUN_FOR)
        .is_some_and(Value::is_string);
    if is_known || pod.text("/status/phase") != "Running" {
        return;
    }
    if !pod.at("/metadata/annotations").is_object() {
        pod["metadata"]["annotations"] = json!({});
    }
    pod["metadata"]["annotations"][RUN_FOR] = FOREVER.into();
}

/// The names of the ServiceAccounts in a Pod or in the templates of a job.
pub(super) fn service_accounts(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                match value {
                    Value::String(name) if field == "serviceAccountName" && !name.is_empty() => {
                        names.insert(name.clone());
                    }
                    value => service_accounts(value, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| service_accounts(item, names)),
        _ => {}
    }
}
