//! `metadata.managedFields`: decoding, encoding, order and maximum number of entries.

use serde_json::{Map, Value};

use super::field_set::{FieldSet, ParseFieldsError};

/// Maximum number of entries of operation `Update`; the oldest excess entries are merged by
/// version.
const MAX_UPDATE_MANAGERS: usize = 10;
/// The manager name of merged entries.
const OLD_UPDATES_MANAGER: &str = "ancient-changes";

/// One entry: a manager, its field set and the time of its last change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ManagedFieldsEntry {
    pub(super) manager: String,
    pub(super) applied: bool,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

impl ManagedFieldsEntry {
    /// Whether both entries have the same manager identity; that of `Apply` does not include the
    /// version.
    pub(super) fn same_manager(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    fn identity(&self) -> (&str, bool, &str, &str) {
        let version = if self.applied {
            ""
        } else {
            self.api_version.as_str()
        };
        (&self.manager, self.applied, version, &self.subresource)
    }

    /// The manager in conflict messages.
    pub(super) fn display_manager(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if !self.applied {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// A malformed entry of `managedFields`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagedFieldsError {
    /// The operation is not known.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// There is no API version.
    #[error("apiVersion must not be empty")]
    ApiVersion,
    /// The entry with this index has no `fieldsType`.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    /// The `fieldsType` is not known.
    #[error("invalid fieldsType {given:?} in managed fields entry {entry}")]
    FieldsType {
        /// The given type.
        given: String,
        /// The index of the entry.
        entry: usize,
    },
    /// The fields are not a set of field paths.
    #[error(transparent)]
    Fields(#[from] ParseFieldsError),
}

/// Decodes the entries of an object. `trusted` entries were written by this server.
///
/// # Errors
/// An entry is malformed.
pub(super) fn decode(
    entries: Option<Value>,
    trusted: bool,
) -> Result<Vec<ManagedFieldsEntry>, ManagedFieldsError> {
    let Some(Value::Array(entries)) = entries else {
        return Ok(Vec::new());
    };
    let mut out: Vec<ManagedFieldsEntry> = Vec::with_capacity(entries.len() + 1);
    for (i, mut entry) in entries.into_iter().enumerate() {
        let fields = entry
            .get_mut("fieldsV1")
            .map(Value::take)
            .unwrap_or_default();
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let applied = match text("operation") {
            "Apply" => true,
            "Update" => false,
            _ => return Err(ManagedFieldsError::Operation),
        };
        if text("apiVersion").is_empty() {
            return Err(ManagedFieldsError::ApiVersion);
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(ManagedFieldsError::NoFieldsType(i)),
            other => {
                return Err(ManagedFieldsError::FieldsType {
                    given: other.to_owned(),
                    entry: i,
                });
            }
        }
        let entry = ManagedFieldsEntry {
            manager: text("manager").into(),
            applied,
            api_version: text("apiVersion").into(),
            subresource: text("subresource").into(),
            time: entry.get("time").and_then(Value::as_str).map(Into::into),
            fields: if trusted {
                FieldSet::from_trusted_fields_v1(fields)
            } else {
                FieldSet::from_fields_v1(&fields)?
            },
        };
        out.retain(|e| !e.same_manager(&entry)); // of several entries, the last one is kept
        out.push(entry);
    }
    Ok(out)
}

/// Restores `before` if mutating admission has made `managedFields` invalid, as upstream's
/// `managedFieldsValidatingAdmissionController`.
///
/// # Errors
/// The validation error of the replaced entries.
pub fn restore_invalid_managed_fields(
    object: &mut Value,
    before: Option<Value>,
) -> Result<(), ManagedFieldsError> {
    let after = object.pointer("/metadata/managedFields");
    if after == before.as_ref() {
        return Ok(());
    }
    let result = decode(after.cloned(), false);
    if result.is_err()
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        match before {
            Some(before) => metadata.insert("managedFields".into(), before),
            None => metadata.remove("managedFields"),
        };
    }
    result.map(drop)
}

/// Whether the entries of a request reset `managedFields`: an empty list, or one empty entry.
pub(super) fn is_reset(fields: Option<&Value>) -> bool {
    match fields.and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(only)]) => only.values().all(|v| v.is_null() || v == ""),
        _ => false,
    }
}

/// Sets the entries of the object, sorted as by the API server.
pub(super) fn encode(object: &mut Value, mut entries: Vec<ManagedFieldsEntry>) {
    entries.retain(|e| !e.fields.is_empty());
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    if entries.is_empty() {
        metadata.remove("managedFields");
        return;
    }
    entries.sort_by(|a, b| {
        let key = |e: &ManagedFieldsEntry| (!e.applied, e.time.clone());
        key(a).cmp(&key(b)).then_with(|| {
            (&a.manager, &a.api_version, &a.subresource).cmp(&(
                &b.manager,
                &b.api_version,
                &b.subresource,
            ))
        })
    });
    let list = entries.into_iter().map(to_value).collect();
    metadata.insert("managedFields".into(), Value::Array(list));
}

fn to_value(entry: ManagedFieldsEntry) -> Value {
    let mut map = Map::new();
    let mut text = |name: &str, value: String| {
        if !value.is_empty() {
            map.insert(name.into(), value.into());
        }
    };
    text("manager", entry.manager);
    text(
        "operation",
        if entry.applied { "Apply" } else { "Update" }.into(),
    );
    text("apiVersion", entry.api_version);
    text("subresource", entry.subresource);
    text("time", entry.time.unwrap_or_default());
    text("fieldsType", "FieldsV1".into());
    map.insert("fieldsV1".into(), entry.fields.into_value());
    Value::Object(map)
}

/// Merges the oldest `Update` entries until their number is at most the maximum.
pub(super) fn cap_update_managers(entries: &mut Vec<ManagedFieldsEntry>) {
    let mut updaters: Vec<usize> = (0..entries.len())
        .filter(|i| !entries[*i].applied)
        .collect();
    let mut excess = updaters.len().saturating_sub(MAX_UPDATE_MANAGERS);
    if excess == 0 {
        return;
    }
    updaters.sort_by(|a, b| {
        let (a, b) = (&entries[*a], &entries[*b]);
        (&a.time, a.identity()).cmp(&(&b.time, b.identity()))
    });
    let mut buckets: Vec<ManagedFieldsEntry> = Vec::new();
    let mut removed = vec![false; entries.len()];
    let mut first: Vec<(String, usize)> = Vec::new();
    for at in updaters {
        if excess == 0 {
            break;
        }
        let version = entries[at].api_version.clone();
        let Some((_, opener)) = first.iter().find(|(v, _)| *v == version) else {
            first.push((version, at));
            continue;
        };
        let opener = *opener;
        let bucket = match buckets.iter().position(|b| b.api_version == version) {
            Some(i) => i,
            None => {
                removed[opener] = true;
                buckets.push(ManagedFieldsEntry {
                    manager: OLD_UPDATES_MANAGER.into(),
                    subresource: String::new(),
                    ..entries[opener].clone()
                });
                buckets.len() - 1
            }
        };
        removed[at] = true;
        let (fields, time) = (entries[at].fields.clone(), entries[at].time.clone());
        buckets[bucket].fields.add(&fields);
        buckets[bucket].time = time;
        excess -= 1;
    }
    let mut i = 0;
    entries.retain(|_| {
        i += 1;
        !removed[i - 1]
    });
    entries.extend(buckets);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_managed_fields_are_restored() {
        let valid = json!([{"manager": "m", "operation": "Update", "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}]);
        let mut object = json!({"metadata": {"managedFields": [{"operation": "Update"}]}});
        let result = restore_invalid_managed_fields(&mut object, Some(valid.clone()));
        assert_eq!(result.unwrap_err(), ManagedFieldsError::ApiVersion);
        assert_eq!(object["metadata"]["managedFields"], valid);
        object["metadata"]["managedFields"][0]["manager"] = "other".into();
        assert_eq!(
            restore_invalid_managed_fields(&mut object, Some(valid)),
            Ok(())
        );
        assert_eq!(object["metadata"]["managedFields"][0]["manager"], "other");
    }
}
