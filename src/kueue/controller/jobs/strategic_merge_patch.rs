//! Strategic merge patch of the pod templates of a JobSet (apimachinery `strategicpatch`, without
//! directives): maps are merged, lists with a merge key by their items, other lists are replaced.

use serde_json::{Map, Value};

/// The merge key of the items of a list.
fn patch_merge_key(field: &str) -> Option<&'static str> {
    match field {
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "hostAliases" => Some("ip"),
        "ports" => Some("containerPort"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "replicatedJobs"
        | "dependsOn"
        | "volumes"
        | "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "imagePullSecrets"
        | "resourceClaims"
        | "schedulingGates"
        | "env" => Some("name"),
        _ => None,
    }
}

/// Applies a patch to an object.
pub(super) fn strategic_merge(object: &mut Value, patch: &Value) {
    let (Some(fields), Value::Object(changes)) = (object.as_object_mut(), patch) else {
        object.clone_from(patch);
        return;
    };
    merge_fields(fields, changes);
}

fn merge_fields(fields: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
            continue;
        }
        match (fields.get_mut(name), change, patch_merge_key(name)) {
            (Some(Value::Array(items)), Value::Array(patches), Some(key)) => {
                *items = merge_list(std::mem::take(items), patches, key);
            }
            (Some(field @ Value::Object(_)), Value::Object(_), _) => strategic_merge(field, change),
            _ => {
                fields.insert(name.clone(), change.clone());
            }
        }
    }
}

/// Merges items by key. The items of the patch are in its order; relative to the others they keep
/// their place, and new ones come before the others.
fn merge_list(items: Vec<Value>, patches: &[Value], key: &str) -> Vec<Value> {
    let position = |item: &Value| items.iter().position(|other| other[key] == item[key]);
    let patched = patches.iter().map(|patch| {
        let place = position(patch);
        let mut item = place.map_or_else(|| patch.clone(), |i| items[i].clone());
        if place.is_some() {
            strategic_merge(&mut item, patch);
        }
        (place, item)
    });
    let mut patched = patched.collect::<Vec<_>>().into_iter().peekable();
    let in_patch = |item: &Value| patches.iter().any(|patch| patch[key] == item[key]);
    let others = items.iter().enumerate().filter(|(_, item)| !in_patch(item));
    let mut merged = Vec::with_capacity(items.len() + patches.len());
    for (place, item) in others {
        while let Some((_, patched)) = patched.next_if(|(at, _)| at.is_none_or(|at| at < place)) {
            merged.push(patched);
        }
        merged.push(item.clone());
    }
    merged.extend(patched.map(|(_, item)| item));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_with_a_merge_key_are_merged_and_others_replaced() {
        let mut spec = json!({"replicatedJobs": [
            {"name": "a", "template": {"metadata": {"labels": {"x": "1"}}}},
            {"name": "b", "tolerations": [{"key": "k"}], "nodeSelector": {"n": "1"}}]});
        let patch = json!({"replicatedJobs": [
            {"name": "b", "tolerations": [{"key": "l"}], "nodeSelector": {"m": "2"}}]});
        strategic_merge(&mut spec, &patch);
        let wanted = json!({"replicatedJobs": [
            {"name": "a", "template": {"metadata": {"labels": {"x": "1"}}}},
            {"name": "b", "tolerations": [{"key": "l"}], "nodeSelector": {"n": "1", "m": "2"}}]});
        assert_eq!(spec, wanted);
        strategic_merge(&mut spec, &json!({"replicatedJobs": null}));
        assert_eq!(spec, json!({}));
    }

    #[test]
    fn new_items_come_before_those_that_the_patch_does_not_name() {
        let names = |items: &[&str]| items.iter().map(|n| json!({"name": n})).collect::<Vec<_>>();
        let merge =
            |items: &[&str], patch: &[&str]| merge_list(names(items), &names(patch), "name");
        assert_eq!(merge(&["a", "b"], &["c"]), names(&["c", "a", "b"]));
        assert_eq!(
            merge(&["a", "b", "c"], &["c", "a"]),
            names(&["b", "c", "a"])
        );
        assert_eq!(merge(&["a", "b"], &["b", "c"]), names(&["a", "b", "c"]));
    }
}
