//! Converts the resources of an `APIResourceList` to aggregated discovery, as
//! `ConvertGroupVersionIntoToDiscovery`.

use serde_json::{Value, json};

use kueue_lab_json::ValueExt;

/// The `resources` of a version in aggregated discovery.
pub(crate) fn version_discovery(list: &Value) -> Value {
    let mut resources: Vec<Value> = Vec::new();
    for resource in list.list("/resources") {
        let (name, subresource) = match resource.text("/name").split_once('/') {
            Some((name, subresource)) => (name, Some(subresource)),
            None => (resource.text("/name"), None),
        };
        let scope = match resource.flag("/namespaced") {
            true => "Namespaced",
            false => "Cluster",
        };
        let kind = json!({
            "group": resource.text("/group"),
            "version": resource.text("/version"),
            "kind": resource.text("/kind"),
        });
        let mut present = resources.iter().position(|r| r["resource"] == name);
        if present.is_none() && subresource.is_some() {
            // A subresource whose parent is not served: the parent has no verbs.
            resources.push(json!({
                "resource": name,
                "scope": scope,
                "responseKind": {"group": "", "version": "", "kind": ""},
                "verbs": [],
            }));
            present = Some(resources.len() - 1);
        }
        match (subresource, present) {
            (Some(subresource), Some(at)) => {
                let entry = json!({
                    "subresource": subresource,
                    "responseKind": kind,
                    "verbs": resource.at("/verbs"),
                });
                match resources[at]["subresources"].as_array_mut() {
                    Some(all) => all.push(entry),
                    None => resources[at]["subresources"] = json!([entry]),
                }
            }
            _ => {
                let mut entry = json!({
                    "resource": name,
                    "responseKind": kind,
                    "scope": scope,
                    "singularResource": resource.text("/singularName"),
                    "verbs": resource.at("/verbs"),
                });
                for field in ["shortNames", "categories"] {
                    let names = resource.list(&format!("/{field}"));
                    if !names.is_empty() {
                        entry[field] = json!(names);
                    }
                }
                resources.push(entry);
            }
        }
    }
    resources.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_belong_to_their_resource() {
        let list = json!({"resources": [
            {"name": "fischers", "singularName": "fischer", "namespaced": false, "kind": "Fischer",
                "verbs": ["get"], "shortNames": ["f"]},
            {"name": "fischers/status", "namespaced": false, "kind": "Fischer", "verbs": ["patch"]},
            {"name": "queues/pending", "namespaced": true, "kind": "Summary", "verbs": ["get"],
                "group": "g", "version": "v2"},
        ]});
        let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
        let expected = json!([
            {"resource": "fischers", "responseKind": kind("", "", "Fischer"), "scope": "Cluster",
                "singularResource": "fischer", "verbs": ["get"], "shortNames": ["f"],
                "subresources": [{"subresource": "status", "responseKind": kind("", "", "Fischer"),
                    "verbs": ["patch"]}]},
            {"resource": "queues", "responseKind": kind("", "", ""), "scope": "Namespaced",
                "verbs": [], "subresources": [{"subresource": "pending",
                    "responseKind": kind("g", "v2", "Summary"), "verbs": ["get"]}]},
        ]);
        assert_eq!(version_discovery(&list), expected);
        assert_eq!(version_discovery(&Value::Null), json!([]));
    }
}
