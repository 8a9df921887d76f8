//! Objects in the form of the recordings: without fields that differ between runs, pods cut down to what
//! Kueue decides, and with placeholders.

use serde_json::{Map, Value, json};

use super::placeholders::Placeholders;

const METADATA_LEFT_OUT: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionGracePeriodSeconds",
];
const LEFT_OUT: [&str; 4] = [
    "observedGeneration",
    "accumulatedPastExecutionTimeSeconds",
    "controller-revision-hash",
    "pod-template-generation",
];
const POD_SPEC: [&str; 5] = [
    "schedulingGates",
    "nodeSelector",
    "priorityClassName",
    "hostname",
    "subdomain",
];

/// An object in the form of the recordings.
pub(crate) fn normalize(object: &Value, placeholders: &Placeholders) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(meta)) = object.get_mut("metadata") {
        METADATA_LEFT_OUT.iter().for_each(|field| {
            meta.remove(*field);
        });
    }
    if object["kind"] == "Pod" {
        object = cut_down_pod(&object);
    }
    leave_out(&mut object);
    if object["kind"] == "StatefulSet"
        && let Some(Value::Object(status)) = object.get_mut("status")
    {
        for field in ["currentRevision", "updateRevision", "collisionCount"] {
            status.remove(field);
        }
    }
    serde_json::from_str(&placeholders.replace(&object.to_string())).unwrap()
}

/// Leaves out fields at any depth and sorts owners and conditions.
fn leave_out(value: &mut Value) {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    match value {
        Value::Object(fields) => {
            LEFT_OUT.iter().for_each(|field| {
                fields.remove(*field);
            });
            if let Some(Value::Array(owners)) = fields.get_mut("ownerReferences") {
                owners.sort_by_key(|owner| (text(owner, "kind"), text(owner, "name")));
            }
            if let Some(Value::Array(conditions)) = fields.get_mut("conditions") {
                conditions.sort_by_key(|condition| text(condition, "type"));
            }
            fields.values_mut().for_each(leave_out);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out),
        _ => {}
    }
}

fn fields_of(value: &Value, names: &[&str]) -> Map<String, Value> {
    let present = |name: &&str| Some(((*name).to_owned(), value.get(*name)?.clone()));
    names.iter().filter_map(present).collect()
}

fn cut_down_pod(pod: &Value) -> Value {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut meta = pod["metadata"].clone();
    let labels = meta["labels"].as_object().cloned().unwrap_or_default();
    // The scheduler copies topology labels from the node.
    let own = |(key, _): &(String, Value)| !key.starts_with("topology.kubernetes.io/");
    meta["labels"] = Value::Object(labels.into_iter().filter(own).collect());
    let mut kept = fields_of(spec, &POD_SPEC);
    let of_node = |toleration: &Value| {
        let key = toleration["key"].as_str().unwrap_or_default();
        key.starts_with("node.kubernetes.io/")
    };
    let tolerations = list(&spec["tolerations"]).into_iter();
    let tolerations: Vec<Value> = tolerations.filter(|t| !of_node(t)).collect();
    kept.insert("tolerations".to_owned(), tolerations.into());
    let containers = list(&spec["containers"]);
    let containers = containers
        .iter()
        .map(|c| fields_of(c, &["name", "resources"]));
    kept.insert(
        "containers".to_owned(),
        containers.map(Value::Object).collect(),
    );
    kept.insert("bound".to_owned(), spec.get("nodeName").is_some().into());
    let conditions: Vec<Value> = list(&status["conditions"])
        .iter()
        .filter_map(pod_condition)
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": kept,
        "status": {"phase": status["phase"], "conditions": conditions},
    })
}

fn pod_condition(condition: &Value) -> Option<Value> {
    let type_ = condition["type"].as_str()?;
    let recorded = ["PodScheduled", "Ready", "TerminationTarget"].contains(&type_)
        || type_.to_lowercase().contains("kueue");
    let mut kept = fields_of(condition, &["type", "status", "reason", "message"]);
    if type_ == "PodScheduled" {
        kept.remove("message");
    }
    recorded.then(|| kept.into())
}

/// An object as one text in the order of the recordings, which sort lists of objects by it.
pub(crate) fn sort_key(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields.iter().map(|(name, value)| {
                format!("{}: {}", Value::from(name.as_str()), sort_key(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(sort_key).collect();
            format!("[{}]", items.join(", "))
        }
        value => value.to_string(),
    }
}

/// The leaves of a value by their path, such as `spec.list[0].name`.
pub(crate) fn leaves(value: &Value) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    collect_leaves(value, String::new(), &mut out);
    out
}

fn collect_leaves(value: &Value, path: String, out: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                collect_leaves(value, format!("{path}{dot}{name}"), out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (i, value) in items.iter().enumerate() {
                collect_leaves(value, format!("{path}[{i}]"), out);
            }
        }
        value => out.push((path, value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_cut_down() {
        let pod = json!({"kind": "Pod", "metadata": {"name": "a", "uid": "1"}, "spec": {"nodeName": "n",
            "dnsPolicy": "Default", "containers": [{"name": "c", "image": "i"}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready"}]},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastProbeTime": null}, {"type": "Initialized"}]}});
        let normalized = normalize(&pod, &Placeholders::default());
        let spec = json!({"bound": true, "containers": [{"name": "c"}], "tolerations": []});
        assert_eq!(normalized["spec"], spec);
        assert_eq!(normalized["metadata"], json!({"name": "a", "labels": {}}));
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        assert_eq!(normalized["status"]["conditions"], conditions);
    }

    #[test]
    fn leaves_have_paths() {
        let found = leaves(&json!({"a": {"b": [1, {}]}, "c": null}));
        let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["a.b[0]", "a.b[1]", "c"]);
    }
}
