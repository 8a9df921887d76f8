//! The objects that a change adds, changes and removes.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::cluster_state::{ClusterState, kind_of};
use super::json_diff::diff_objects;
use kueue_lab_json::ValueExt;

/// What happens to an object.
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
    /// Its deletion is requested and waits for what uses it.
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
    /// What happens to it.
    pub action: ObjectAction,
    /// The fields that differ.
    pub fields: Vec<FieldChange>,
}

/// The objects that differ between two states.
pub(crate) fn object_changes(before: &ClusterState, after: &ClusterState) -> Vec<ObjectChange> {
    let mut changes = Vec::new();
    let added = after
        .objects
        .iter()
        .filter(|(key, _)| !before.objects.contains_key(*key));
    for (key, _) in before.objects.iter().chain(added) {
        let (rank, namespace, name) = key;
        let change = |action, fields| ObjectChange {
            object: match namespace.as_str() {
                "" => format!("{}/{name}", kind_of(*rank)),
                namespace => format!("{}/{namespace}/{name}", kind_of(*rank)),
            },
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
                let fields = diff_objects(old, new);
                let action = match () {
                    () if is_deleted(new) && !is_deleted(old) => ObjectAction::RemoveLater,
                    () if old.at("/metadata/uid") != new.at("/metadata/uid") => {
                        ObjectAction::Replace
                    }
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
