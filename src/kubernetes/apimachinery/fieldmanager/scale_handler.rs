//! `managedFields` of an object after a write to its scale subresource, upstream's `ScaleHandler`.

use serde_json::Value;

use super::field_set::FieldSet;
use super::managed_fields::{self, ManagedFieldsEntry};
use super::path_element;

/// Moves the ownership of the replicas as `ToParent` does: upstream reads and writes the entries of
/// the Scale, and identifies an entry of operation `Update` by its version among others. Its
/// entries with the replicas are therefore not found again: the replicas move to a separate entry,
/// which has no time.
///
/// `new` has the entries after the write, `live` those before it; `replicas` are the names of the
/// fields from the root to the replicas, and `api_version` is the version of the request's
/// resource.
pub fn to_parent<'p>(
    live: &Value,
    new: &mut Value,
    replicas: impl Iterator<Item = &'p str>,
    api_version: &str,
) {
    let entries = |object: &Value| {
        let entries = object.pointer("/metadata/managedFields");
        managed_fields::decode(entries.cloned(), true).unwrap_or_default()
    };
    let path: Vec<String> = replicas.map(path_element::field).collect();
    let elements = || path.iter().map(String::as_str);
    let mut of_replicas = FieldSet::default();
    of_replicas.insert(elements());
    let before = entries(live);
    let mut parent: Vec<ManagedFieldsEntry> = Vec::new();
    let mut separate = Vec::new();
    for mut entry in entries(new) {
        if !entry.fields.has(elements()) {
            parent.push(entry);
            continue;
        }
        let known = before.iter().find(|b| b.same_manager(&entry));
        let known = known.filter(|b| b.fields.has(elements()));
        if entry.applied
            && let Some(known) = known
        {
            entry.time.clone_from(&known.time);
            parent.push(entry);
            continue;
        }
        separate.push(ManagedFieldsEntry {
            api_version: api_version.to_owned(),
            time: None,
            fields: of_replicas.clone(),
            ..entry.clone()
        });
        entry.fields.subtract(&of_replicas);
        parent.push(entry);
    }
    parent.append(&mut separate);
    managed_fields::encode(new, parent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(
        manager: &str,
        operation: &str,
        subresource: &str,
        time: &str,
        fields: Value,
    ) -> Value {
        let mut entry = json!({
            "manager": manager,
            "operation": operation,
            "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        });
        for (name, value) in [("subresource", subresource), ("time", time)] {
            if !value.is_empty() {
                entry[name] = value.into();
            }
        }
        entry
    }

    fn written(live: Vec<Value>, new: Vec<Value>) -> Value {
        let live = json!({"metadata": {"managedFields": live}});
        let mut new = json!({"metadata": {"managedFields": new}});
        to_parent(&live, &mut new, ["spec", "replicas"].into_iter(), "apps/v1");
        new["metadata"]["managedFields"].clone()
    }

    #[test]
    fn an_update_entry_is_separated_from_the_replicas() {
        let time = "2026-01-01T00:00:00Z";
        let both = json!({"f:spec": {"f:paused": {}, "f:replicas": {}}});
        let live = vec![entry("kubectl", "Update", "", time, both)];
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        let paused = json!({"f:spec": {"f:paused": {}}});
        let separated = json!([
            entry("kubectl", "Update", "", "", replicas),
            entry("kubectl", "Update", "", time, paused.clone()),
        ]);
        assert_eq!(written(live.clone(), live), separated);
        // Both entries have the same manager; the next write keeps the last one.
        let live = separated.as_array().cloned().unwrap_or_default();
        let last = json!([entry("kubectl", "Update", "", time, paused)]);
        assert_eq!(written(live.clone(), live), last);
    }

    #[test]
    fn an_applied_entry_keeps_the_replicas_and_its_time() {
        let before = "2026-01-01T00:00:00Z";
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        let live = entry("m", "Apply", "scale", before, replicas.clone());
        let new = entry("m", "Apply", "scale", "2026-01-01T00:00:09Z", replicas);
        assert_eq!(written(vec![live.clone()], vec![new]), json!([live]));
    }
}
