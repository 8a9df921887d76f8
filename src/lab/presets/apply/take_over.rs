//! Takes over the fields of the client that applied an object, as `kubectl apply --server-side --force-conflicts` does.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::applier::Applier;
use super::field_conflicts::FieldConflict;
use crate::Manifest;
use crate::api_client::{FIELD_MANAGER, RequestError, RestMapping};

/// Labels and annotations that clients add to the objects that they apply: Argo CD, Flux and Helm.
const TRACKING_KEYS: [&str; 11] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "argocd.argoproj.io/instance",
    "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/installation-id",
    "kustomize.toolkit.fluxcd.io/name",
    "kustomize.toolkit.fluxcd.io/namespace",
    "helm.toolkit.fluxcd.io/name",
    "helm.toolkit.fluxcd.io/namespace",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
];
/// The annotation of objects that Helm applied.
const HELM_RELEASE: &str = "meta.helm.sh/release-name";

/// Fields of an object that other clients own, and that were taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOverFields {
    /// `Kind/name` or `Kind/namespace/name`.
    pub object: String,
    /// The field managers that own fields of it.
    pub managers: BTreeSet<String>,
    /// The fields whose values differ from those of the files.
    pub conflicts: Vec<String>,
}

impl Applier {
    /// Gives the fields of the client that applied the object to the field manager of presets, so that the next apply
    /// removes those that the files lack.
    pub(super) async fn take_over(
        &self,
        kind: &RestMapping,
        manifest: &Manifest,
        live: &Value,
        conflicts: &[FieldConflict],
    ) -> Result<Option<TakenOverFields>, RequestError> {
        let owner = owner_entry(live);
        if let Some(index) = owner {
            let change = json!({"metadata": {
                "resourceVersion": live["metadata"]["resourceVersion"],
                "managedFields": transferred(live, index),
            }});
            self.remote
                .merge_patch(kind, &manifest.key, &change)
                .await?;
        }
        let owner = owner.and_then(|index| entries(live)[index]["manager"].as_str());
        let mut managers: BTreeSet<String> = owner.into_iter().map(str::to_owned).collect();
        managers.extend(conflicts.iter().map(|c| c.manager.clone()));
        let mut fields: Vec<String> = conflicts.iter().map(|c| c.field.clone()).collect();
        fields.dedup();
        Ok((!managers.is_empty()).then(|| TakenOverFields {
            object: manifest.key.to_string(),
            managers,
            conflicts: fields,
        }))
    }
}

fn entries(object: &Value) -> &[Value] {
    let entries = object["metadata"]["managedFields"].as_array();
    entries.map_or(&[], Vec::as_slice)
}

/// The index of the entry of the client that applied the object: that of server-side apply with the most fields, or
/// that of Helm, which updates. Entries of subresources are those of controllers.
fn owner_entry(object: &Value) -> Option<usize> {
    let by_helm = !object["metadata"]["annotations"][HELM_RELEASE].is_null();
    let mut candidates: Vec<(bool, usize, usize)> = Vec::new();
    for (index, entry) in entries(object).iter().enumerate() {
        let manager = entry["manager"].as_str().unwrap_or_default();
        if !entry["subresource"].is_null() || manager == FIELD_MANAGER {
            continue;
        }
        let applies = entry["operation"] == "Apply";
        if applies || (by_helm && manager.contains("helm")) {
            candidates.push((applies, leaves(&entry["fieldsV1"]), index));
        }
    }
    candidates.sort_unstable();
    candidates.pop().map(|(_, _, index)| index)
}

/// The number of fields of a set.
fn leaves(fields: &Value) -> usize {
    match fields.as_object() {
        Some(fields) if !fields.is_empty() => fields.values().map(leaves).sum(),
        _ => 1,
    }
}

/// The `managedFields` of the object in which the entry `index` is that of presets.
fn transferred(object: &Value, index: usize) -> Vec<Value> {
    let mut all = entries(object).to_vec();
    let entry = &mut all[index];
    let mut moved = entry.clone();
    moved["manager"] = FIELD_MANAGER.into();
    moved["operation"] = "Apply".into();
    let applies = entry["operation"] == "Apply";
    let fields = moved["fieldsV1"].as_object_mut();
    let mut fields = fields.map(std::mem::take).unwrap_or_default();
    fields.remove("f:status");
    let metadata = fields.remove("f:metadata").unwrap_or_default();
    let kept = match applies {
        true => metadata_of_files(&metadata),
        false => {
            // Helm creates objects by an update, of which labels of webhooks are a part.
            Map::new()
        }
    };
    if !kept.is_empty() {
        fields.insert("f:metadata".to_owned(), kept.into());
    }
    moved["fieldsV1"] = fields.into();
    entry["fieldsV1"] = json!({"f:metadata": metadata});
    if metadata.as_object().is_none_or(Map::is_empty) {
        all.remove(index);
    }
    all.push(moved);
    all
}

/// The labels and annotations of a set that are those of files.
fn metadata_of_files(metadata: &Value) -> Map<String, Value> {
    let mut kept = Map::new();
    for name in ["f:labels", "f:annotations"] {
        let Some(keys) = metadata[name].as_object() else {
            continue;
        };
        let mut keys = keys.clone();
        keys.retain(|key, _| {
            let key = key.strip_prefix("f:");
            key.is_some_and(|key| !TRACKING_KEYS.contains(&key))
        });
        if !keys.is_empty() {
            kept.insert(name.to_owned(), keys.into());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "fieldsV1": fields})
    }

    #[test]
    fn the_fields_of_the_client_that_applied_become_those_of_presets() {
        let labels = json!({"f:labels": {"f:team": {}, "f:kustomize.toolkit.fluxcd.io/name": {}}});
        let applied = json!({"f:metadata": labels, "f:spec": {"f:cohortName": {}}});
        let mut status = entry("kueue", "Apply", &json!({"f:status": {}}));
        status["subresource"] = "status".into();
        let edited = entry(
            "kubectl-edit",
            "Update",
            &json!({"f:spec": {"f:stopPolicy": {}}}),
        );
        let other = entry(
            "webhook",
            "Apply",
            &json!({"f:metadata": {"f:labels": {"f:a": {}}}}),
        );
        let object = json!({"metadata": {"managedFields": [
            status, other, entry("kustomize-controller", "Apply", &applied), edited]}});
        let index = owner_entry(&object).unwrap();
        assert_eq!(index, 2);
        let all = transferred(&object, index);
        let moved =
            json!({"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:cohortName": {}}});
        assert_eq!(
            all,
            [
                status,
                other,
                entry(
                    "kustomize-controller",
                    "Apply",
                    &json!({"f:metadata": labels})
                ),
                edited,
                entry(FIELD_MANAGER, "Apply", &moved),
            ]
        );
    }

    #[test]
    fn only_objects_of_a_release_are_those_of_helm() {
        let fields =
            json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:cohortName": {}}});
        let managed = [entry("helm", "Update", &fields)];
        let mut object = json!({"metadata": {"managedFields": managed}});
        assert_eq!(owner_entry(&object), None);
        object["metadata"]["annotations"][HELM_RELEASE] = "queues".into();
        let index = owner_entry(&object).unwrap();
        let all = transferred(&object, index);
        let moved = json!({"f:spec": {"f:cohortName": {}}});
        assert_eq!(all[1], entry(FIELD_MANAGER, "Apply", &moved));
    }
}
