//! The fields in which two objects differ.

use serde_json::Value;

use super::object_changes::FieldChange;
use kueue_lab_presets::{PRESET_LABEL, keep_quantity_spelling};

/// Metadata that a change of the object does not name.
const IGNORED: [&str; 11] = [
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "finalizers",
    "namespace",
    "name",
    "ownerReferences",
];

/// The label that the API server sets on each Namespace.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The annotation that a lab sets on the ConfigMap of Kueue's configuration.
const BASE_CONFIGURATION_ANNOTATION: &str = "kueue-lab.dev/base-configuration";

/// The fields that differ, except the status and the fields that the API server sets.
pub(crate) fn diff_objects(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    let fields = |object: &Value| {
        let mut object = object.clone();
        let Some(fields) = object.as_object_mut() else {
            return object;
        };
        if fields.get("kind").and_then(Value::as_str) == Some("Namespace") {
            // Its only field has the finalizers.
            fields.remove("spec");
        }
        for field in ["status", "kind", "apiVersion"] {
            fields.remove(field);
        }
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|field, _| !IGNORED.contains(&field.as_str()));
            if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
                labels.remove(PRESET_LABEL);
                labels.remove(NAMESPACE_NAME_LABEL);
                if labels.is_empty() {
                    metadata.remove("labels");
                }
            }
            let annotations = metadata
                .get_mut("annotations")
                .and_then(Value::as_object_mut);
            if let Some(annotations) = annotations {
                annotations.remove(BASE_CONFIGURATION_ANNOTATION);
                if annotations.is_empty() {
                    metadata.remove("annotations");
                }
            }
            if metadata.is_empty() {
                fields.remove("metadata");
            }
        }
        object
    };
    let (before, after) = (fields(before), fields(after));
    let after = keep_quantity_spelling(&after, &before);
    diff("", &before, &after, &mut changes);
    changes
}

fn diff(path: &str, before: &Value, after: &Value, changes: &mut Vec<FieldChange>) {
    if before == after {
        return;
    }
    let field = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let value = |of: &serde_json::Map<String, Value>| of.get(key).cloned();
                let (old, new) = (value(old), value(new));
                let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                diff(&field(key), &old, &new, changes);
            }
        }
        (Value::Array(old), Value::Array(new)) => match named(old).zip(named(new)) {
            Some((old, new)) => {
                let added = new
                    .iter()
                    .filter(|(name, _)| !old.iter().any(|(n, _)| n == name));
                for (name, _) in old.iter().chain(added) {
                    let value = |of: &[(String, Value)]| {
                        of.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())
                    };
                    let (before, after) = (value(&old), value(&new));
                    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                    diff(&format!("{path}[{name}]"), &before, &after, changes);
                }
                let order = |of: &[(String, Value)]| {
                    of.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
                };
                let (old, new) = (order(&old), order(&new));
                let is_same_set = old.len() == new.len() && old.iter().all(|n| new.contains(n));
                if old != new && is_same_set {
                    changes.push(FieldChange {
                        field: format!("{path} (order)"),
                        before: old.into(),
                        after: new.into(),
                    });
                }
            }
            None if old.len() == new.len() => {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    diff(&format!("{path}[{index}]"), old, new, changes);
                }
            }
            None => changes.push(FieldChange {
                field: path.to_owned(),
                before: before.clone(),
                after: after.clone(),
            }),
        },
        _ => changes.push(FieldChange {
            field: path.to_owned(),
            before: before.clone(),
            after: after.clone(),
        }),
    }
}

/// The items of a list whose items all have a different name.
fn named(items: &[Value]) -> Option<Vec<(String, Value)>> {
    let mut named: Vec<(String, Value)> = Vec::with_capacity(items.len());
    for item in items {
        let name = item.get("name")?.as_str()?.to_owned();
        if named.iter().any(|(other, _)| *other == name) {
            return None;
        }
        named.push((name, item.clone()));
    }
    (!named.is_empty()).then_some(named)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_compared_by_name() {
        let object = |flavors: Value| {
            json!({"metadata": {"name": "q", "resourceVersion": flavors.to_string()},
            "spec": {"resourceGroups": [{"flavors": flavors}]}, "status": flavors})
        };
        let before = object(json!([{"name": "a", "quota": 1}, {"name": "b", "quota": 2}]));
        let after = object(json!([{"name": "b", "quota": 3}, {"name": "c", "quota": 4}]));
        let changes = diff_objects(&before, &after);
        let texts: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                r#"- spec.resourceGroups[0].flavors[a]: {"name":"a","quota":1}"#,
                "~ spec.resourceGroups[0].flavors[b].quota: 2 -> 3",
                r#"+ spec.resourceGroups[0].flavors[c]: {"name":"c","quota":4}"#,
            ]
        );
        let swapped = object(json!([{"name": "b", "quota": 2}, {"name": "a", "quota": 1}]));
        let changes = diff_objects(&before, &swapped);
        assert_eq!(
            changes[0].to_string(),
            r#"~ spec.resourceGroups[0].flavors (order): ["a","b"] -> ["b","a"]"#
        );
        assert!(diff_objects(&before, &before).is_empty());
        // Equal quantities in another spelling.
        let quota = |amount: Value| object(json!([{"name": "a", "nominalQuota": amount}]));
        assert!(diff_objects(&quota(json!("8")), &quota(json!(8))).is_empty());
        assert_eq!(diff_objects(&quota(json!("8")), &quota(json!(9))).len(), 1);
        // A queue that is deleted while Workloads use it.
        let mut deleted = before.clone();
        deleted["metadata"] = json!({"deletionTimestamp": "2026-08-01T12:00:00Z",
            "deletionGracePeriodSeconds": 0});
        assert!(diff_objects(&before, &deleted).is_empty());
    }
}
