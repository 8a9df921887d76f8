//! The objects that a change adds, changes and removes.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::cluster_state::ClusterState;
use super::json_diff::diff_objects;
use kueue_lab_api::config::{CONFIG_MAP_KEY, load};
use kueue_lab_json::ValueExt;
use kueue_lab_yaml::{Limits, parse_one};

/// The action on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ObjectAction {
    /// It is created.
    Add,
    /// Fields of it change.
    Change,
    /// It is deleted and created again.
    Replace,
    /// It is deleted.
    Remove,
    /// Its deletion is requested and waits for the objects that use it.
    RemoveLater,
}

/// A field that differs; null for a field that is not set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// The path of the field.
    pub field: String,
    /// Its value before.
    pub before: Value,
    /// Its value after.
    pub after: Value,
}

impl fmt::Display for FieldChange {
    /// As `terraform plan` prints a change: `~ field: 1 -> 2`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            before,
            after,
        } = self;
        match (before.is_null(), after.is_null()) {
            (true, _) => write!(f, "+ {field}: {after}"),
            (_, true) => write!(f, "- {field}: {before}"),
            _ => write!(f, "~ {field}: {before} -> {after}"),
        }
    }
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectChange {
    /// `Kind/name` or `Kind/namespace/name`.
    pub object: String,
    /// The action.
    pub action: ObjectAction,
    /// The fields that differ.
    pub fields: Vec<FieldChange>,
}

/// An object in which the YAML texts of a ConfigMap are what they say; a configuration of Kueue with its
/// defaults.
fn with_parsed_data(object: &Value) -> Cow<'_, Value> {
    let data = object.get("data").and_then(Value::as_object);
    let Some(data) = data.filter(|_| object.text("/kind") == "ConfigMap") else {
        return Cow::Borrowed(object);
    };
    let mut parsed = object.clone();
    for (key, text) in data {
        let text = text.as_str().unwrap_or_default();
        let value = match key == CONFIG_MAP_KEY {
            true => load(text)
                .ok()
                .and_then(|loaded| serde_json::to_value(loaded.configuration).ok()),
            false => None,
        };
        let value = value.or_else(|| {
            let node = parse_one(text, Limits::default()).ok()?;
            (!node.entries().is_empty()).then(|| node.to_json())
        });
        if let Some(value) = value {
            parsed["data"][key] = value;
        }
    }
    Cow::Owned(parsed)
}

/// Whether Kueue and controllers change fields of an object: it can be suspended, or is a Pod.
fn is_managed_job(object: &Value) -> bool {
    object.has("/spec/suspend") || object.text("/kind") == "Pod"
}

/// A job without the fields that Kueue changes when it is admitted or evicted: these are effects. Lists and maps
/// hold the templates of its Pods.
fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, value| {
            !matches!(field.as_str(), "suspend" | "nodeName")
                && !value.is_object()
                && !value.is_array()
        });
    }
    object
}

/// The objects that differ between two states.
pub(crate) fn object_changes(before: &ClusterState, after: &ClusterState) -> Vec<ObjectChange> {
    let mut changes = Vec::new();
    let added = after
        .objects
        .iter()
        .filter(|(key, _)| !before.objects.contains_key(*key));
    for (key, _) in before.objects.iter().chain(added) {
        let change = |action, fields| ObjectChange {
            object: key.to_string(),
            action,
            fields,
        };
        match (before.objects.get(key), after.objects.get(key)) {
            (None, Some(new)) => {
                changes.push(change(ObjectAction::Add, diff_objects(&json!({}), new)));
            }
            (Some(_), None) => changes.push(change(ObjectAction::Remove, Vec::new())),
            (Some(old), Some(new)) => {
                let is_deleted = |object: &Value| object.has("/metadata/deletionTimestamp");
                let is_same = old.at("/metadata/uid") == new.at("/metadata/uid");
                let [old_fields, new_fields] =
                    [old, new].map(|object| match is_same && is_managed_job(object) {
                        true => Cow::Owned(without_managed_fields(object)),
                        false => with_parsed_data(object),
                    });
                let fields = diff_objects(&old_fields, &new_fields);
                let action = match () {
                    () if is_deleted(new) && !is_deleted(old) => ObjectAction::RemoveLater,
                    () if !is_same => ObjectAction::Replace,
                    () if fields.is_empty() => continue,
                    () => ObjectAction::Change,
                };
                changes.push(change(action, fields));
            }
            (None, None) => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suspension_of_a_job_is_no_change_of_it() {
        let job = |suspend: bool, parallelism: i64, node: &str| {
            json!({"kind": "Job", "spec": {"suspend": suspend, "parallelism": parallelism,
                "template": {"spec": {"nodeSelector": {"pool": node}}}}})
        };
        let lines = |before: Value, after: Value| -> Vec<String> {
            assert!(is_managed_job(&before));
            let [before, after] = [before, after].map(|job| without_managed_fields(&job));
            let fields = diff_objects(&before, &after);
            fields.iter().map(ToString::to_string).collect()
        };
        assert_eq!(lines(job(true, 1, ""), job(false, 1, "a")), [""; 0]);
        assert_eq!(
            lines(job(true, 1, ""), job(false, 2, "a")),
            ["~ spec.parallelism: 1 -> 2"]
        );
    }

    #[test]
    fn a_configuration_of_kueue_differs_by_its_fields() {
        let config_map = |more: &str| {
            let text =
                format!("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{more}");
            json!({"kind": "ConfigMap", "data": {CONFIG_MAP_KEY: text, "other": "a"}})
        };
        let lines = |before: &str, after: &str| -> Vec<String> {
            let (before, after) = (config_map(before), config_map(after));
            let fields = diff_objects(&with_parsed_data(&before), &with_parsed_data(&after));
            fields.iter().map(ToString::to_string).collect()
        };
        // A default that is written out is no change.
        assert_eq!(
            lines("", "integrations: {frameworks: [batch/job]}\n"),
            [""; 0]
        );
        let found = lines(
            "",
            "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n",
        );
        assert_eq!(
            found,
            [
                "+ data.controller_manager_config.yaml.fairSharing: {\"preemptionStrategies\":[\"LessThanInitialShare\"]}"
            ]
        );
    }
}
