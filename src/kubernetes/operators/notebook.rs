//! Notebook: a StatefulSet with one pod, and its service.

use serde_json::{Value, json};

use super::child_objects::{
    add_env, copy_entries, fields, has_containers, items, items_mut, metadata_of, set_labels,
};
use super::observed::Observed;
use super::reconcile_plan::{ChildReference, ReconcilePlan};
use kueue_lab_controller_runtime::ObjectKey;

/// Annotation: the notebook is stopped.
const STOPPED: &str = "kubeflow-resource-stopped";
/// The default port of a notebook.
const PORT: u16 = 8888;
/// The group of the volumes.
const FS_GROUP: i64 = 100;

/// Reconciles a Notebook.
pub(super) fn reconcile(notebook: &Observed<'_>) -> ReconcilePlan {
    let template = &notebook.spec()["template"];
    if !has_containers(template) {
        return ReconcilePlan::not_simulated("template.spec needs a container");
    }
    let mut plan = ReconcilePlan::default();
    let (name, wanted) = (notebook.name(), stateful_set(notebook));
    let set = notebook.child("StatefulSet", &name);
    match set {
        None => {
            plan.create.push(wanted);
            plan.create.push(service(notebook));
        }
        Some(set) => {
            let (old, new) = (&set.data["spec"], &wanted["spec"]);
            let mut patch = json!({});
            if old["replicas"] != new["replicas"] {
                patch["replicas"] = new["replicas"].clone();
            }
            // The webhook of Kueue adds annotations, defaulting adds fields: only changes of what
            // the notebook sets are changes.
            if !contains(&old["template"], &new["template"]) {
                patch["template"] = new["template"].clone();
            }
            if patch != json!({}) {
                let reference = ChildReference::dynamic(set);
                plan.patch.push((reference, json!({"spec": patch})));
            }
        }
    }
    plan.status = Some(status(notebook, set.map(|set| &set.data["status"])));
    plan
}

/// Whether `new` adds nothing to `old`.
fn contains(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => new
            .iter()
            .all(|(key, new)| old.get(key).is_some_and(|old| contains(old, new)) || is_empty(new)),
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| contains(old, new))
        }
        (old, new) => old == new,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The StatefulSet: the labels and annotations of the notebook are those of the pod.
fn stateful_set(notebook: &Observed<'_>) -> Value {
    let name = notebook.name();
    let metadata = metadata_of(notebook.object);
    let stopped = metadata["annotations"].get(STOPPED).is_some();
    let mut template = json!({"metadata": {}, "spec": notebook.spec()["template"]["spec"].clone()});
    set_labels(
        &mut template,
        &[("statefulset", &name), ("notebook-name", &name)],
    );
    copy_entries(&metadata, &mut template, "labels");
    let annotations = fields(&metadata["annotations"]);
    let annotations: serde_json::Map<_, _> = annotations
        .filter(|(key, _)| !key.contains("kubectl") && !key.contains("notebook"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    copy_entries(
        &json!({"annotations": annotations}),
        &mut template,
        "annotations",
    );
    let spec = &mut template["spec"];
    if let Some(container) = items_mut(&mut spec["containers"]).first_mut() {
        if container["workingDir"].as_str().is_none_or(str::is_empty) {
            container["workingDir"] = json!("/home/jovyan");
        }
        if container["ports"].is_null() {
            container["ports"] =
                json!([{"containerPort": PORT, "name": "notebook-port", "protocol": "TCP"}]);
        }
    }
    let prefix = format!("/notebook/{}/{name}", notebook.namespace());
    let mut first = json!({"containers": items(&spec["containers"]).get(..1)});
    add_env(&mut first, &[("NB_PREFIX", prefix)]);
    spec["containers"][0] = first["containers"][0].take();
    if spec["securityContext"].is_null() {
        spec["securityContext"] = json!({"fsGroup": FS_GROUP});
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": if stopped { 0 } else { 1 },
            "selector": {"matchLabels": {"statefulset": name}},
            "serviceName": "",
            "template": template,
        },
    })
}

fn service(notebook: &Observed<'_>) -> Value {
    let name = notebook.name();
    let ports = &notebook.spec()["template"]["spec"]["containers"][0]["ports"];
    let port = items(ports)
        .first()
        .and_then(|port| port["containerPort"].as_u64());
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "type": "ClusterIP",
            "selector": {"statefulset": name},
            "ports": [{
                "name": format!("http-{name}"), "port": 80,
                "targetPort": port.unwrap_or(PORT.into()), "protocol": "TCP",
            }],
        },
    })
}

/// The conditions of the pod, the state of its container of the same name and the ready replicas.
fn status(notebook: &Observed<'_>, set: Option<&Value>) -> Value {
    let ready = set
        .and_then(|set| set["readyReplicas"].as_i64())
        .unwrap_or(0);
    let mut status = json!({"conditions": [], "readyReplicas": ready, "containerState": {}});
    let name = notebook.name();
    let key = ObjectKey::new(notebook.namespace(), format!("{name}-0"));
    let Some(pod) = notebook.lookup.pod(&key) else {
        return status;
    };
    let pod = serde_json::to_value(&pod.status).unwrap_or_default();
    let container = items(&pod["containerStatuses"])
        .iter()
        .find(|c| c["name"] == name);
    if let Some(container) = container {
        status["containerState"] = container["state"].clone();
    }
    status["conditions"] = items(&pod["conditions"])
        .iter()
        .map(|condition| {
            let mut own = json!({});
            for field in ["type", "status", "reason", "message", "lastTransitionTime"] {
                if !condition[field].is_null() {
                    own[field] = condition[field].clone();
                }
            }
            own["lastProbeTime"] = condition["lastTransitionTime"].clone();
            own
        })
        .collect();
    status
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::contains;

    #[test]
    fn added_fields_are_no_change() {
        let stored = json!({"a": 1, "list": [{"name": "x", "default": true}], "added": {}});
        assert!(contains(
            &stored,
            &json!({"a": 1, "list": [{"name": "x"}], "none": {}})
        ));
        assert!(!contains(&stored, &json!({"a": 2})));
        assert!(!contains(
            &stored,
            &json!({"list": [{"name": "x"}, {"name": "y"}]})
        ));
    }
}
