//! The fields of the last `kubectl apply`, in `managedFields` in place of the annotation that holds the whole object.

use kueue_lab_json::ValueExt;
use serde_json::{Map, Value, json};

/// The annotation in which client-side apply of kubectl and Argo CD keeps the object that it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The field manager of client-side apply of kubectl, if no entry has another.
const CLIENT_SIDE_APPLY: &str = "kubectl-client-side-apply";

/// Removes the annotation with the object that client-side apply has sent. Its fields become an entry of server-side
/// apply, as when kubectl changes from one to the other: an update also owns the fields that defaults and webhooks set.
pub(super) fn upgrade_managed_fields(object: &mut Value) {
    let metadata = object.get_mut("metadata");
    let annotations = metadata.and_then(|metadata| metadata.get_mut("annotations"));
    let annotations = annotations.and_then(Value::as_object_mut);
    let text = annotations.and_then(|annotations| annotations.remove(LAST_APPLIED));
    let Some(applied) = text.as_ref().and_then(Value::as_str) else {
        return;
    };
    let Ok(applied) = serde_json::from_str::<Value>(applied) else {
        return;
    };
    let Some(entries) = object["metadata"]["managedFields"].as_array_mut() else {
        return;
    };
    let mut manager = None;
    let (mut version, mut time) = (Value::Null, Value::Null);
    let mut moved = Map::new();
    for entry in entries.iter_mut() {
        let is_update = entry.text("/operation") == "Update" && !entry.has("/subresource");
        let is_other_version = !version.is_null() && version != entry["apiVersion"];
        let fields = entry["fieldsV1"].as_object_mut().map(std::mem::take);
        let Some(fields) = fields else {
            continue;
        };
        if !is_update || is_other_version {
            entry["fieldsV1"] = fields.into();
            continue;
        }
        let (applied, others) = split(fields, &applied);
        entry["fieldsV1"] = others.into();
        if applied.is_empty() {
            continue;
        }
        version = entry["apiVersion"].clone();
        time = entry["time"].clone();
        let name = entry.text("/manager");
        let is_edit = name.starts_with("kubectl") && name != CLIENT_SIDE_APPLY;
        if manager.is_none() && !is_edit {
            manager = Some(name.to_owned());
        }
        merge(&mut moved, applied);
    }
    if moved.is_empty() {
        return;
    }
    entries.retain(|entry| entry["fieldsV1"].as_object().is_none_or(|f| !f.is_empty()));
    entries.push(json!({
        "manager": manager.as_deref().unwrap_or(CLIENT_SIDE_APPLY), "operation": "Apply",
        "apiVersion": version, "time": time, "fieldsType": "FieldsV1", "fieldsV1": moved,
    }));
}

/// The fields of a set that a value has, and the others.
fn split(fields: Map<String, Value>, value: &Value) -> (Map<String, Value>, Map<String, Value>) {
    let (mut present, mut others) = (Map::new(), Map::new());
    for (key, below) in fields {
        let Some(value) = member(value, &key) else {
            others.insert(key, below);
            continue;
        };
        match below {
            Value::Object(below) if !below.is_empty() => {
                let (of_value, of_others) = split(below, value);
                if !of_value.is_empty() {
                    present.insert(key.clone(), of_value.into());
                }
                if !of_others.is_empty() {
                    others.insert(key, of_others.into());
                }
            }
            below => {
                present.insert(key, below);
            }
        }
    }
    (present, others)
}

/// The value of a path element of FieldsV1: `f:name`, `k:{"name":"a"}`, `v:"a"`, `i:0`, or `.` for the value itself.
fn member<'v>(value: &'v Value, element: &str) -> Option<&'v Value> {
    if element == "." {
        return Some(value);
    }
    let (kind, rest) = element.split_once(':')?;
    let items = || value.as_array().into_iter().flatten();
    match kind {
        "f" => value.get(rest),
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
            items().find(|item| keys.iter().all(|(name, key)| item.get(name) == Some(key)))
        }
        "v" => {
            let wanted: Value = serde_json::from_str(rest).ok()?;
            items().find(|item| **item == wanted)
        }
        "i" => value.get(rest.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Adds the fields of a set to another.
fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, below) in from {
        match (into.get_mut(&key), below) {
            (Some(Value::Object(into)), Value::Object(below)) => merge(into, below),
            (_, below) => {
                into.insert(key, below);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_applied_fields_are_an_entry_of_server_side_apply() {
        let applied = json!({"metadata": {"name": "q", "annotations": {}}, "spec": {
            "cohortName": "all", "queueingStrategy": "StrictFIFO",
            "tolerations": [{"key": "a", "operator": "Exists"}], "resourceGroups": []}});
        let created = json!({
            "f:metadata": {"f:annotations": {".": {}, (format!("f:{LAST_APPLIED}")): {}}},
            "f:spec": {".": {}, "f:cohortName": {}, "f:resourceGroups": {}, "f:stopPolicy": {},
                "f:tolerations": {"k:{\"key\":\"a\"}": {".": {}, "f:key": {}},
                    "k:{\"key\":\"b\"}": {".": {}, "f:key": {}}}}});
        let edited = json!({"f:spec": {"f:queueingStrategy": {}}});
        let entry = |manager: &str, fields: &Value| json!({"manager": manager, "operation": "Update", "apiVersion": "v", "fieldsV1": fields});
        let mut object = json!({"metadata": {
            "annotations": {LAST_APPLIED: applied.to_string(), "other": "a"},
            "managedFields": [entry("kubectl-edit", &edited), entry("argocd-controller", &created)]}});
        upgrade_managed_fields(&mut object);
        assert_eq!(object["metadata"]["annotations"], json!({"other": "a"}));
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        assert_eq!(entries.len(), 2, "{entries:#?}");
        let others = json!({
            "f:metadata": {"f:annotations": {(format!("f:{LAST_APPLIED}")): {}}},
            "f:spec": {"f:stopPolicy": {},
                "f:tolerations": {"k:{\"key\":\"b\"}": {".": {}, "f:key": {}}}}});
        assert_eq!(entries[0], entry("argocd-controller", &others));
        assert_eq!(entries[1]["manager"], "argocd-controller");
        assert_eq!(entries[1]["operation"], "Apply");
        assert_eq!(
            entries[1]["fieldsV1"]["f:spec"],
            json!({".": {}, "f:cohortName": {}, "f:resourceGroups": {}, "f:queueingStrategy": {},
                "f:tolerations": {"k:{\"key\":\"a\"}": {".": {}, "f:key": {}}}})
        );
    }

    #[test]
    fn an_object_without_the_annotation_stays_as_it_is() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "a", "operation": "Update", "fieldsV1": {"f:spec": {}}}]}});
        let mut upgraded = object.clone();
        upgrade_managed_fields(&mut upgraded);
        assert_eq!(upgraded, object);
    }
}
