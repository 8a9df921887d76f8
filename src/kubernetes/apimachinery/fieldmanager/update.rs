//! Field management of creates, updates and patches: a manager owns the fields it changes.

use jiff::Timestamp;
use serde_json::Value;

use super::compare::{Comparison, compare};
use super::field_manager::live_or_empty;
use super::managed_fields::{self, ManagedFieldsEntry};
use super::strip_meta::strip_meta;
use super::{FieldManager, typed_value};

/// Sets `managedFields` of `new` after a create (`live` is `None`) or an update. Entries of the
/// request replace the live ones; a request without entries keeps them.
pub fn update(writer: &FieldManager<'_>, live: Option<&Value>, new: &mut Value) {
    let given = new.get_mut("metadata").and_then(Value::as_object_mut);
    let given = given.and_then(|m| m.remove("managedFields"));
    let kept = live.and_then(|l| l.pointer("/metadata/managedFields"));
    let mut managers = managers_of(writer, given, kept);
    if managers.is_empty() && live.is_some() {
        return; // managed from creation or the first apply on
    }
    let live = &*live_or_empty(writer, live);
    let changes = compare(writer.schema, live, new);
    update_managers(writer, live, new, changes, &mut managers);
    managed_fields::cap_update_managers(&mut managers);
    managed_fields::encode(new, managers);
}

fn managers_of(
    writer: &FieldManager<'_>,
    given: Option<Value>,
    kept: Option<&Value>,
) -> Vec<ManagedFieldsEntry> {
    if given.as_ref() == kept {
        return managed_fields::decode(given, true).unwrap_or_default();
    }
    let live = || managed_fields::decode(kept.cloned(), true).unwrap_or_default();
    if !writer.subresource.is_empty() {
        return live(); // a subresource does not set `managedFields`
    }
    if managed_fields::is_reset(given.as_ref()) {
        return Vec::new();
    }
    match managed_fields::decode(given, false) {
        Ok(entries) if !entries.is_empty() => entries,
        _ => live(),
    }
}

/// Makes the writer the owner of the changed fields.
pub(super) fn update_managers(
    writer: &FieldManager<'_>,
    live: &Value,
    new: &Value,
    mut changes: Comparison,
    managers: &mut Vec<ManagedFieldsEntry>,
) {
    reconcile_with_schema_changes(writer, live, managers);
    changes.exclude(writer.reset_fields);
    remove_changed_fields(writer, live, new, &changes, managers, None);
    let mut new_fields = changes.modified;
    new_fields.add(&changes.added);
    strip_meta(&mut new_fields);
    if new_fields.is_empty() {
        return;
    }
    let mut entry = writer_entry(writer, false);
    entry.time = Some(format_time(writer.now));
    entry.fields = new_fields;
    match managers.iter_mut().find(|e| e.same_manager(&entry)) {
        Some(mine) => {
            mine.fields.add(&entry.fields);
            mine.time = entry.time;
        }
        None => managers.push(entry),
    }
}

/// The entry of the writer, with an empty field set.
pub(super) fn writer_entry(writer: &FieldManager<'_>, applied: bool) -> ManagedFieldsEntry {
    let manager = if writer.manager.is_empty() {
        "unknown"
    } else {
        writer.manager
    };
    ManagedFieldsEntry {
        manager: manager.into(),
        applied,
        api_version: writer.api_version.into(),
        subresource: writer.subresource.into(),
        time: None,
        fields: super::field_set::FieldSet::default(),
    }
}

/// The time in the format of `managedFields`.
pub(super) fn format_time(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Adapts entries to schema changes since they were written.
pub(super) fn reconcile_with_schema_changes(
    writer: &FieldManager<'_>,
    live: &Value,
    managers: &mut [ManagedFieldsEntry],
) {
    if !writer.schema.is_custom() {
        return; // the schemas of built-in types do not change
    }
    for entry in managers {
        let reconciled = if entry.api_version == writer.api_version {
            typed_value::reconcile_field_set(writer.schema, &entry.fields)
        } else {
            let view = writer.versions.convert(live, &entry.api_version);
            view.and_then(|(_, schema)| typed_value::reconcile_field_set(&schema, &entry.fields))
        };
        if let Some(fields) = reconciled {
            entry.fields = fields;
        }
    }
}

/// Removes the changed fields from the sets of all managers but `except`. Returns the removed
/// fields by manager that still exist in the object; in an apply these are conflicts.
pub(super) fn remove_changed_fields(
    writer: &FieldManager<'_>,
    live: &Value,
    new: &Value,
    changes: &Comparison,
    managers: &mut Vec<ManagedFieldsEntry>,
    except: Option<&ManagedFieldsEntry>,
) -> Vec<ManagedFieldsEntry> {
    let mut elsewhere: Vec<(String, Option<Comparison>)> = Vec::new();
    let mut conflicts = Vec::new();
    managers.retain_mut(|entry| {
        if except.is_some_and(|e| e.same_manager(entry)) {
            return true;
        }
        let changes = if entry.api_version == writer.api_version {
            changes
        } else {
            let known = elsewhere.iter().position(|(v, _)| *v == entry.api_version);
            let at = known.unwrap_or_else(|| {
                let compared = compare_in(writer, live, new, &entry.api_version);
                elsewhere.push((entry.api_version.clone(), compared));
                elsewhere.len() - 1
            });
            match &elsewhere[at].1 {
                Some(changes) => changes,
                None => return false, // the version is no longer served
            }
        };
        let mut lost = entry.fields.intersection(&changes.modified);
        lost.add(&entry.fields.intersection(&changes.added));
        if !lost.is_empty() {
            entry.fields.subtract(&lost);
            conflicts.push(ManagedFieldsEntry {
                fields: lost,
                ..entry.clone()
            });
        }
        entry.fields.subtract(&changes.removed);
        !entry.fields.is_empty()
    });
    conflicts
}

fn compare_in(
    writer: &FieldManager<'_>,
    live: &Value,
    new: &Value,
    api_version: &str,
) -> Option<Comparison> {
    let (live, schema) = writer.versions.convert(live, api_version)?;
    let (new, _) = writer.versions.convert(new, api_version)?;
    Some(compare(&schema, &live, &new))
}

/// Restores the timestamps of entries if nothing else differs, so that a no-op write is not stored
/// (upstream's `IgnoreManagedFieldsTimestampsTransformer`).
pub fn ignore_managed_fields_timestamps(new: &mut Value, old: &Value) {
    const AT: &str = "/metadata/managedFields";
    let (Some(before), Some(after)) = (old.pointer(AT), new.pointer(AT)) else {
        return;
    };
    let (Some(old_entries), Some(new_entries)) = (before.as_array(), after.as_array()) else {
        return;
    };
    let equal_ignoring_time = |a: &Value, b: &Value| match (a.as_object(), b.as_object()) {
        (Some(a), Some(b)) => {
            let rest =
                |m: &serde_json::Map<String, Value>| m.len() - usize::from(m.contains_key("time"));
            rest(a) == rest(b) && a.iter().all(|(k, v)| k == "time" || b.get(k) == Some(v))
        }
        _ => false,
    };
    let equal = old_entries.len() == new_entries.len()
        && old_entries != new_entries
        && old_entries
            .iter()
            .zip(new_entries)
            .all(|(a, b)| equal_ignoring_time(a, b));
    if !equal {
        return;
    }
    let restored = before.clone();
    let written = new
        .pointer_mut(AT)
        .map(|fields| std::mem::replace(fields, restored));
    if new != old
        && let (Some(fields), Some(written)) = (new.pointer_mut(AT), written)
    {
        *fields = written;
    }
}
