//! Server-side apply: the configuration is merged into the live object, fields the manager no
//! longer states go unless somebody else owns them, and fields somebody else owns with another value
//! are conflicts.

use serde_json::{Value, json};

use crate::status::ApiError;

use super::compare::compare;
use super::entries::{self, Entry};
use super::set::FieldSet;
use super::update::{reconcile, release, stamp, track, writer_entry};
use super::{Applied, Writer, atom, element, empty, fields, last_applied, merge, named};
use super::{plain_error, strip, typed};

/// The manager that owns what was there before anybody tracked ownership.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies a configuration. `live` is `None` when the object does not exist yet.
///
/// # Errors
/// 400 for a configuration of another type or with `managedFields`, 500 (as the real server) for one
/// that does not fit the schema, 409 with one cause a field for conflicts.
pub fn apply(
    writer: &Writer<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<Applied, ApiError> {
    check(writer, config)?;
    let start;
    let live = match live {
        Some(live) => live,
        None => {
            start = empty(writer);
            &start
        }
    };
    let mut managers = entries::read(live.pointer("/metadata/managedFields").cloned(), true)
        .map_err(|e| plain_error(format!("failed to decode managed fields: {e}")))?;
    if managers.is_empty() {
        let first = Writer {
            manager: BEFORE_FIRST_APPLY,
            ..*writer
        };
        let changes = compare(writer.schema, &empty(writer), live);
        track(&first, &empty(writer), live, changes, &mut managers);
        entries::cap(&mut managers);
    }
    let faults = typed::faults(writer.schema, config);
    if !faults.is_empty() {
        return Err(plain_error(format!(
            "failed to create typed patch object ({}): {}",
            named(writer, config),
            typed::text(&faults)
        )));
    }
    let result = match merged(writer, live, config, &managers, force) {
        Err(conflicts) if writer.manager == "kubectl" => {
            // what client-side apply had set is kubectl's own
            let open = last_applied::not_from(writer, live, conflicts);
            if open.is_empty() {
                merged(writer, live, config, &managers, true)
            } else {
                Err(open)
            }
        }
        result => result,
    };
    let (object, mut managers) = result.map_err(|conflicts| conflict_error(&conflicts))?;
    let mine = writer_entry(writer, true);
    let changed = object.is_some();
    if changed && let Some(entry) = managers.iter_mut().find(|e| e.same_manager(&mine)) {
        entry.time = Some(stamp(writer.now));
    }
    let mut object = object.unwrap_or_else(|| live.clone());
    if writer.manager == "kubectl" {
        last_applied::refresh(&mut object, config);
    }
    entries::write(&mut object, managers);
    Ok(Applied { object, changed })
}

fn check(writer: &Writer<'_>, config: &Value) -> Result<(), ApiError> {
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

type Outcome = Result<(Option<Value>, Vec<Entry>), Vec<Entry>>;

/// The merged object (`None` when it equals the live one) and the managers, or the conflicts.
fn merged(
    writer: &Writer<'_>,
    live: &Value,
    config: &Value,
    managers: &[Entry],
    force: bool,
) -> Outcome {
    let mut managers = managers.to_vec();
    reconcile(writer, live, &mut managers);
    let mut new = merge::merge(writer.schema, Some(live), Some(config)).unwrap_or_default();
    let mut mine = writer_entry(writer, true);
    mine.fields = fields::of_value(writer.schema, config);
    mine.fields.subtract_recursive(writer.reset);
    let last = match managers.iter_mut().find(|e| e.same_manager(&mine)) {
        Some(entry) => {
            let last = std::mem::replace(&mut entry.fields, mine.fields.clone());
            let version = std::mem::replace(&mut entry.api_version, mine.api_version.clone());
            Some((last, version))
        }
        None => {
            managers.push(mine.clone());
            None
        }
    };
    if let Some((last, version)) = last {
        new = pruned(writer, new, &managers, &mine, &last, &version);
    }
    let mut changes = compare(writer.schema, live, &new);
    changes.exclude(writer.reset);
    let conflicts = release(writer, live, &new, &changes, &mut managers, Some(&mine));
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    for entry in managers.iter_mut().filter(|e| e.same_manager(&mine)) {
        strip(&mut entry.fields);
    }
    managers.retain(|e| !e.fields.is_empty());
    let same = without_entries(live, &new);
    Ok(((!same).then_some(new), managers))
}

/// Whether two objects are the same; both carry the live `managedFields`.
fn without_entries(live: &Value, new: &Value) -> bool {
    atom::same(live, new)
}

/// Removes what the manager applied last time but not this time and nobody else owns.
fn pruned(
    writer: &Writer<'_>,
    merged: Value,
    managers: &[Entry],
    mine: &Entry,
    last: &FieldSet,
    version: &str,
) -> Value {
    if last.is_empty() {
        return merged;
    }
    let mut dropped = last.clone();
    dropped.subtract(&mine.fields);
    if dropped.is_empty() && version == writer.api_version {
        return merged; // everything is stated again
    }
    if version != writer.api_version {
        // the sets are in another version: prune there and come back
        let Some((there, schema)) = writer.versions.view(&merged, version) else {
            return merged;
        };
        let pruned = prune_in(&schema, &there, managers, last, version);
        let back = writer.versions.view(&pruned, writer.api_version);
        return back.map_or(merged, |(object, _)| object);
    }
    prune_in(writer.schema, &merged, managers, last, version)
}

fn prune_in(
    schema: &crate::schema::Schema,
    merged: &Value,
    managers: &[Entry],
    last: &FieldSet,
    version: &str,
) -> Value {
    let last = fields::with_named_fields(schema, last);
    let named = |set: &FieldSet| fields::with_named_fields(schema, set);
    let everything = named(&fields::of_value(schema, merged));
    let mut left = named(&fields::of_value(
        schema,
        &fields::removed(schema, merged, &last),
    ));
    // back comes what anybody owns, the manager's new configuration included ...
    let mut owned = FieldSet::default();
    for entry in managers.iter().filter(|e| e.api_version == version) {
        owned.add(&entry.fields);
    }
    left.add(&named(&owned));
    let mut gone = everything.clone();
    gone.subtract(&left);
    let pruned = fields::removed(schema, merged, &gone);
    // ... and what the manager had not applied itself
    let mut dangling = everything;
    dangling.subtract(&named(&fields::of_value(schema, &pruned)));
    fields::removed(schema, merged, &dangling.intersection(&last))
}

/// The 409 of an apply.
fn conflict_error(conflicts: &[Entry]) -> ApiError {
    let mut conflicts: Vec<&Entry> = conflicts.iter().collect();
    conflicts.sort_by_key(|e| (&e.manager, !e.applied, &e.api_version, &e.subresource));
    let all: Vec<(String, String)> = conflicts
        .iter()
        .flat_map(|e| {
            let paths = e.fields.paths();
            paths
                .into_iter()
                .map(move |p| (e.shown(), element::shown_path(&p)))
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
        ..ApiError::new(409, "Conflict", message)
    }
}
