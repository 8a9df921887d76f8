//! Ownership after an ordinary write: whoever changes a field owns it.

use jiff::Timestamp;
use serde_json::Value;

use super::compare::{Comparison, compare};
use super::entries::{self, Entry};
use super::{Writer, empty, fields, strip};

/// Records in `new` who owns what after a create (`live` is `None`) or an update. Entries that come
/// with the request replace the live ones; without any, the live ones go on.
pub fn update(writer: &Writer<'_>, live: Option<&Value>, new: &mut Value) {
    let given = new.get_mut("metadata").and_then(Value::as_object_mut);
    let given = given.and_then(|m| m.remove("managedFields"));
    let kept = live.and_then(|l| l.pointer("/metadata/managedFields"));
    let mut managers = managers_of(writer, given, kept);
    if managers.is_empty() && live.is_some() {
        return; // ownership is only tracked from creation or the first apply on
    }
    let start;
    let live = match live {
        Some(live) => live,
        None => {
            start = empty(writer);
            &start
        }
    };
    let changes = compare(writer.schema, live, new);
    track(writer, live, new, changes, &mut managers);
    entries::cap(&mut managers);
    entries::write(new, managers);
}

fn managers_of(writer: &Writer<'_>, given: Option<Value>, kept: Option<&Value>) -> Vec<Entry> {
    if given.as_ref() == kept {
        return entries::read(given, true).unwrap_or_default();
    }
    let live = || entries::read(kept.cloned(), true).unwrap_or_default();
    if !writer.subresource.is_empty() {
        return live(); // a subresource cannot set them
    }
    if entries::is_reset(given.as_ref()) {
        return Vec::new();
    }
    match entries::read(given, false) {
        Ok(entries) if !entries.is_empty() => entries,
        _ => live(),
    }
}

/// Moves ownership of what differs to the writer.
pub(super) fn track(
    writer: &Writer<'_>,
    live: &Value,
    new: &Value,
    mut changes: Comparison,
    managers: &mut Vec<Entry>,
) {
    reconcile(writer, live, managers);
    changes.exclude(writer.reset);
    release(writer, live, new, &changes, managers, None);
    let mut taken = changes.modified;
    taken.add(&changes.added);
    strip(&mut taken);
    if taken.is_empty() {
        return;
    }
    let mut entry = writer_entry(writer, false);
    entry.time = Some(stamp(writer.now));
    entry.fields = taken;
    match managers.iter_mut().find(|e| e.same_manager(&entry)) {
        Some(mine) => {
            mine.fields.add(&entry.fields);
            mine.time = entry.time;
        }
        None => managers.push(entry),
    }
}

/// The writer's own entry, without fields.
pub(super) fn writer_entry(writer: &Writer<'_>, applied: bool) -> Entry {
    let manager = if writer.manager.is_empty() {
        "unknown"
    } else {
        writer.manager
    };
    Entry {
        manager: manager.into(),
        applied,
        api_version: writer.api_version.into(),
        subresource: writer.subresource.into(),
        time: None,
        fields: super::FieldSet::default(),
    }
}

/// The time as entries record it.
pub(super) fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Brings entries into line with a schema that has changed since they were written.
pub(super) fn reconcile(writer: &Writer<'_>, live: &Value, managers: &mut [Entry]) {
    if !writer.schema.is_custom() {
        return; // built-in types do not change while the server runs
    }
    for entry in managers {
        let reconciled = if entry.api_version == writer.api_version {
            fields::reconciled(writer.schema, &entry.fields)
        } else {
            let view = writer.versions.view(live, &entry.api_version);
            view.and_then(|(_, schema)| fields::reconciled(&schema, &entry.fields))
        };
        if let Some(fields) = reconciled {
            entry.fields = fields;
        }
    }
}

/// Takes what has changed away from all managers but `except`. Returns what each lost although the
/// field is still there, which for an apply is a conflict.
pub(super) fn release(
    writer: &Writer<'_>,
    live: &Value,
    new: &Value,
    changes: &Comparison,
    managers: &mut Vec<Entry>,
    except: Option<&Entry>,
) -> Vec<Entry> {
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
                None => return false, // the version is gone
            }
        };
        let mut lost = entry.fields.intersection(&changes.modified);
        lost.add(&entry.fields.intersection(&changes.added));
        if !lost.is_empty() {
            entry.fields.subtract(&lost);
            conflicts.push(Entry {
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
    writer: &Writer<'_>,
    live: &Value,
    new: &Value,
    api_version: &str,
) -> Option<Comparison> {
    let (live, schema) = writer.versions.view(live, api_version)?;
    let (new, _) = writer.versions.view(new, api_version)?;
    Some(compare(&schema, &live, &new))
}

/// Restores the times of entries when nothing but those times differs, so that a write that changes
/// nothing stores nothing.
pub fn keep_times(new: &mut Value, old: &Value) {
    const AT: &str = "/metadata/managedFields";
    let (Some(before), Some(after)) = (old.pointer(AT), new.pointer(AT)) else {
        return;
    };
    let (Some(olds), Some(news)) = (before.as_array(), after.as_array()) else {
        return;
    };
    let same_but_time = |a: &Value, b: &Value| match (a.as_object(), b.as_object()) {
        (Some(a), Some(b)) => {
            let rest =
                |m: &serde_json::Map<String, Value>| m.len() - usize::from(m.contains_key("time"));
            rest(a) == rest(b) && a.iter().all(|(k, v)| k == "time" || b.get(k) == Some(v))
        }
        _ => false,
    };
    let equal = olds.len() == news.len()
        && olds != news
        && olds.iter().zip(news).all(|(a, b)| same_but_time(a, b));
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
