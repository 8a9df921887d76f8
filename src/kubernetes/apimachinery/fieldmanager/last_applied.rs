//! Migration from client-side to server-side apply with kubectl: fields of the annotation
//! `last-applied-configuration` are treated as owned by kubectl, and the annotation is updated.

use serde_json::Value;

use super::compare::compare;
use super::managed_fields::ManagedFieldsEntry;
use super::{FieldManager, typed_value};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations
        .get(ANNOTATION)?
        .as_str()
        .filter(|s| !s.is_empty())
}

/// Removes conflicts on fields that client-side apply has set; returns the remaining ones.
pub(super) fn remove_allowed_conflicts(
    writer: &FieldManager<'_>,
    live: &Value,
    conflicts: Vec<ManagedFieldsEntry>,
) -> Vec<ManagedFieldsEntry> {
    let Some(own) = allowed_conflicts(writer, live) else {
        return conflicts;
    };
    let rest = conflicts.into_iter().map(|mut entry| {
        entry.fields.subtract(&own);
        entry
    });
    rest.filter(|e| !e.fields.is_empty()).collect()
}

/// The fields of the last applied configuration that have the same value in the live object.
fn allowed_conflicts(
    writer: &FieldManager<'_>,
    live: &Value,
) -> Option<super::field_set::FieldSet> {
    let config: Value = serde_json::from_str(annotation(live)?).ok()?;
    if config.get("apiVersion").and_then(Value::as_str) != Some(writer.api_version) {
        return None;
    }
    if !super::validate::validate_object(writer.schema, &config).is_empty() {
        return None;
    }
    let mut own = typed_value::to_field_set(writer.schema, &config);
    let changes = compare(writer.schema, &config, live);
    own.subtract(&changes.modified);
    own.subtract(&changes.added);
    own.subtract(&changes.removed);
    Some(own)
}

/// Updates the annotation, if present, to the applied configuration.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
        if annotations.is_empty()
            && let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("annotations");
        }
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations") {
        annotations[ANNOTATION] = format!("{config}\n").into();
    }
}
