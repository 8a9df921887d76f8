//! Server-side apply: merges the configuration into the live object, prunes fields that the manager
//! no longer applies unless another manager owns them, and reports conflicts for fields that
//! another manager owns with a different value.

use serde_json::{Value, json};

use super::compare::compare;
use super::field_manager::{empty_object, live_or_empty, object_description, untyped_error};
use super::field_set::FieldSet;
use super::managed_fields::{self, ManagedFieldsEntry};
use super::strip_meta::strip_meta;
use super::update::{
    format_time, reconcile_with_schema_changes, remove_changed_fields, update_managers,
    writer_entry,
};
use super::{
    ApplyResult, FieldManager, atom, last_applied, merge, path_element, typed_value, validate,
};
use crate::api_error::ApiError;
use crate::status_reason::StatusReason;

/// The manager of the fields of an object that had no `managedFields` before its first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies a configuration; `live` is `None` for a create.
///
/// # Errors
/// 400 for a configuration of another kind or with `managedFields`, 500 (as upstream) for one that
/// does not match the schema, 409 for conflicts, with one cause per field.
pub fn apply(
    writer: &FieldManager<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<ApplyResult, ApiError> {
    check(writer, config)?;
    let live = &*live_or_empty(writer, live);
    let mut managers =
        managed_fields::decode(live.pointer("/metadata/managedFields").cloned(), true)
            .map_err(|e| untyped_error(format!("failed to decode managed fields: {e}")))?;
    if managers.is_empty() {
        let first = FieldManager {
            manager: BEFORE_FIRST_APPLY,
            ..*writer
        };
        let changes = compare(writer.schema, &empty_object(writer), live);
        update_managers(&first, &empty_object(writer), live, changes, &mut managers);
        managed_fields::cap_update_managers(&mut managers);
    }
    let errors = validate::validate_object(writer.schema, config);
    if !errors.is_empty() {
        return Err(untyped_error(format!(
            "failed to create typed patch object ({}): {}",
            object_description(writer, config),
            validate::text(&errors)
        )));
    }
    let result = match merge_and_prune(writer, live, config, &managers, force) {
        Err(conflicts) if writer.manager == "kubectl" => {
            // Fields set by client-side apply are owned by kubectl.
            let open = last_applied::remove_allowed_conflicts(writer, live, conflicts);
            if open.is_empty() {
                merge_and_prune(writer, live, config, &managers, true)
            } else {
                Err(open)
            }
        }
        result => result,
    };
    let (object, mut managers) = result.map_err(|conflicts| conflict_error(&conflicts))?;
    let new_entry = writer_entry(writer, true);
    let changed = object.is_some();
    if changed && let Some(entry) = managers.iter_mut().find(|e| e.same_manager(&new_entry)) {
        entry.time = Some(format_time(writer.now));
    }
    let mut object = object.unwrap_or_else(|| live.clone());
    if writer.manager == "kubectl" {
        last_applied::refresh(&mut object, config);
    }
    managed_fields::encode(&mut object, managers);
    Ok(ApplyResult { object, changed })
}

fn check(writer: &FieldManager<'_>, config: &Value) -> Result<(), ApiError> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if version != writer.api_version || kind != writer.kind {
        return Err(ApiError::bad_request(format!(
            "invalid object type: {version}, Kind={kind}"
        )));
    }
    match config.pointer("/metadata/managedFields") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(ApiError::bad_request("metadata.managedFields must be nil")),
    }
}

type MergeOutcome = Result<(Option<Value>, Vec<ManagedFieldsEntry>), Vec<ManagedFieldsEntry>>;

/// The merged object (`None` if it equals the live one) and the managers, or the conflicts.
fn merge_and_prune(
    writer: &FieldManager<'_>,
    live: &Value,
    config: &Value,
    managers: &[ManagedFieldsEntry],
    force: bool,
) -> MergeOutcome {
    let mut managers = managers.to_vec();
    reconcile_with_schema_changes(writer, live, &mut managers);
    let mut new = merge::merge(writer.schema, Some(live), Some(config)).unwrap_or_default();
    let mut new_entry = writer_entry(writer, true);
    new_entry.fields = typed_value::to_field_set(writer.schema, config);
    new_entry.fields.subtract_recursive(writer.reset_fields);
    let last = match managers.iter_mut().find(|e| e.same_manager(&new_entry)) {
        Some(entry) => {
            let last = std::mem::replace(&mut entry.fields, new_entry.fields.clone());
            let version = std::mem::replace(&mut entry.api_version, new_entry.api_version.clone());
            Some((last, version))
        }
        None => {
            managers.push(new_entry.clone());
            None
        }
    };
    if let Some((last, version)) = last {
        new = prune(writer, new, &managers, &new_entry, &last, &version);
    }
    let mut changes = compare(writer.schema, live, &new);
    changes.exclude(writer.reset_fields);
    let conflicts = remove_changed_fields(
        writer,
        live,
        &new,
        &changes,
        &mut managers,
        Some(&new_entry),
    );
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    for entry in managers.iter_mut().filter(|e| e.same_manager(&new_entry)) {
        strip_meta(&mut entry.fields);
    }
    managers.retain(|e| !e.fields.is_empty());
    let same = is_same_object(live, &new);
    Ok(((!same).then_some(new), managers))
}

/// Whether two objects are equal; both have the live `managedFields`.
fn is_same_object(live: &Value, new: &Value) -> bool {
    atom::values_equal(live, new)
}

/// Prunes fields that the manager applied before, does not apply now, and no other manager owns.
fn prune(
    writer: &FieldManager<'_>,
    merged: Value,
    managers: &[ManagedFieldsEntry],
    new_entry: &ManagedFieldsEntry,
    last: &FieldSet,
    version: &str,
) -> Value {
    if last.is_empty() {
        return merged;
    }
    let mut dropped = last.clone();
    dropped.subtract(&new_entry.fields);
    if dropped.is_empty() && version == writer.api_version {
        return merged; // no field was removed from the configuration
    }
    if version != writer.api_version {
        // The last applied set is in another version: convert, prune and convert back.
        let Some((there, schema)) = writer.versions.convert(&merged, version) else {
            return merged;
        };
        let pruned = prune_in_version(&schema, &there, managers, last, version);
        let back = writer.versions.convert(&pruned, writer.api_version);
        return back.map_or(merged, |(object, _)| object);
    }
    prune_in_version(writer.schema, &merged, managers, last, version)
}

fn prune_in_version(
    schema: &crate::schema::Schema,
    merged: &Value,
    managers: &[ManagedFieldsEntry],
    last: &FieldSet,
    version: &str,
) -> Value {
    let last = typed_value::ensure_named_fields_are_members(schema, last);
    let named = |set: &FieldSet| typed_value::ensure_named_fields_are_members(schema, set);
    let everything = named(&typed_value::to_field_set(schema, merged));
    let mut left = named(&typed_value::to_field_set(
        schema,
        &typed_value::remove_items(schema, merged, &last),
    ));
    // Add back the fields of all managers, including the new configuration ...
    let mut owned = FieldSet::default();
    for entry in managers.iter().filter(|e| e.api_version == version) {
        owned.add(&entry.fields);
    }
    left.add(&named(&owned));
    let mut to_remove = everything.clone();
    to_remove.subtract(&left);
    let pruned = typed_value::remove_items(schema, merged, &to_remove);
    // ... and fields that the manager has not applied before (dangling items).
    let mut dangling = everything;
    dangling.subtract(&named(&typed_value::to_field_set(schema, &pruned)));
    typed_value::remove_items(schema, merged, &dangling.intersection(&last))
}

/// The `Conflict` error (409) of an apply.
fn conflict_error(conflicts: &[ManagedFieldsEntry]) -> ApiError {
    let mut conflicts: Vec<&ManagedFieldsEntry> = conflicts.iter().collect();
    conflicts.sort_by_key(|e| (&e.manager, !e.applied, &e.api_version, &e.subresource));
    let all: Vec<(String, String)> = conflicts
        .iter()
        .flat_map(|e| {
            let paths = e.fields.paths();
            paths
                .into_iter()
                .map(move |p| (e.display_manager(), path_element::display_path(&p)))
        })
        .collect();
    let message = match all.as_slice() {
        [(manager, path)] => {
            format!("Apply failed with 1 conflict: conflict with {manager}: {path}")
        }
        many => {
            let mut lines = Vec::new();
            let mut last = "";
            for (manager, path) in many {
                if manager != last {
                    lines.push(format!("conflicts with {manager}:"));
                    last = manager;
                }
                lines.push(format!("- {path}"));
            }
            format!(
                "Apply failed with {} conflicts: {}",
                many.len(),
                lines.join("\n")
            )
        }
    };
    let causes: Vec<Value> = all
        .iter()
        .map(|(manager, path)| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {manager}"),
                "field": path,
            })
        })
        .collect();
    let details = json!({"causes": causes});
    ApiError {
        details,
        ..ApiError::new(409, StatusReason::Conflict, message)
    }
}
