//! Object metadata: system fields, generated names and immutable fields.

use std::collections::HashSet;

use jiff::Timestamp;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::whole_seconds;
use serde_json::{Map, Value};

use super::api_error::ApiError;

/// Number of random characters at the end of a generated name.
const RANDOM_SUFFIX_LENGTH: usize = 5;
/// Maximum length of `generateName` before it is truncated.
const GENERATE_NAME_MAX: usize = 63 - RANDOM_SUFFIX_LENGTH;

/// The metadata of an object; created if absent.
pub fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let meta = &mut object["metadata"];
    if !meta.is_object() {
        *meta = Value::Object(Map::new());
    }
    match meta {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// A string field of the metadata; empty if absent.
pub fn meta_str<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|m| m.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The finalizers of an object.
pub fn finalizers(object: &Value) -> Vec<String> {
    let list = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|f| Some(f.as_str()?.to_string()))
        .collect()
}

/// Whether `metadata.deletionTimestamp` is set.
pub fn is_terminating(object: &Value) -> bool {
    !meta_str(object, "deletionTimestamp").is_empty()
}

/// `metadata.deletionGracePeriodSeconds`.
pub fn deletion_grace_period(object: &Value) -> Option<i64> {
    object
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
}

/// A timestamp encoded as `metav1.Time`.
pub fn metav1_time(now: Timestamp) -> Value {
    whole_seconds(now).to_string().into()
}

/// Removes the fields that only the server sets, `rest.WipeObjectMetaSystemFields`.
pub fn wipe_system_fields(object: &mut Value) {
    let meta = meta_mut(object);
    for field in [
        "creationTimestamp",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        meta.remove(field);
    }
}

/// Sets uid and creation timestamp, `rest.FillObjectMetaSystemFields`.
pub fn fill_system_fields(object: &mut Value, entropy: &Entropy, now: Timestamp) {
    let meta = meta_mut(object);
    meta.insert("creationTimestamp".into(), metav1_time(now));
    meta.insert("uid".into(), entropy.uid().into());
}

/// Sets the name of an object that has only a `generateName`. Returns whether it did.
pub fn generate_name(object: &mut Value, entropy: &Entropy) -> bool {
    let base = meta_str(object, "generateName");
    if base.is_empty() {
        return false;
    }
    let end = (0..=GENERATE_NAME_MAX.min(base.len()))
        .rev()
        .find(|&i| base.is_char_boundary(i));
    let name = format!(
        "{}{}",
        &base[..end.unwrap_or(0)],
        entropy.suffix(RANDOM_SUFFIX_LENGTH)
    );
    meta_mut(object).insert("name".into(), name.into());
    true
}

/// Sets the namespace of the object to that of the request.
///
/// # Errors
/// 400 if the object has another namespace.
pub fn ensure_namespace(object: &mut Value, namespace: &str) -> Result<(), ApiError> {
    let own = meta_str(object, "namespace");
    if own == namespace {
        return Ok(());
    }
    if !own.is_empty() && !namespace.is_empty() {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let meta = meta_mut(object);
    if namespace.is_empty() {
        meta.remove("namespace");
    } else {
        meta.insert("namespace".into(), namespace.into());
    }
    Ok(())
}

/// Restores the metadata in `new` that an update must not change.
pub fn keep_immutable_fields(new: &mut Value, old: &Value) {
    let was = |field: &str| old.get("metadata").and_then(|m| m.get(field)).cloned();
    let meta = meta_mut(new);
    meta.remove("selfLink");
    for field in ["generation", "creationTimestamp", "deletionTimestamp"] {
        match was(field) {
            Some(value) => {
                meta.insert(field.into(), value);
            }
            None if field != "creationTimestamp" => {
                meta.remove(field);
            }
            None => {}
        }
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        let absent = meta.get(field).is_none_or(|v| v.is_null() || v == "");
        if absent && let Some(value) = was(field) {
            meta.insert(field.into(), value);
        }
    }
}

/// The generation of an object; 0 if unset.
pub fn generation(object: &Value) -> i64 {
    object
        .pointer("/metadata/generation")
        .and_then(Value::as_i64)
        .unwrap_or(0)
}

/// Sets the generation.
pub fn set_generation(object: &mut Value, generation: i64) {
    meta_mut(object).insert("generation".into(), generation.into());
}

/// Removes duplicate owner references. Returns their uids.
pub fn dedup_owner_references(object: &mut Value) -> Vec<String> {
    let Some(Value::Array(owners)) = meta_mut(object).get_mut("ownerReferences") else {
        return Vec::new();
    };
    let mut seen = HashSet::with_capacity(owners.len());
    let is_first: Vec<bool> = owners.iter().map(|owner| seen.insert(owner)).collect();
    let mut dropped = Vec::new();
    let mut is_first = is_first.into_iter();
    owners.retain(|owner| {
        let is_first = is_first.next().unwrap_or(true);
        if !is_first {
            dropped.push(owner["uid"].as_str().unwrap_or_default().to_string());
        }
        is_first
    });
    dropped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_generated_name_keeps_within_63_characters() {
        let entropy = Entropy::seeded(1);
        let mut o = json!({"metadata": {"generateName": "x".repeat(100)}});
        assert!(generate_name(&mut o, &entropy));
        assert_eq!(meta_str(&o, "name").len(), 63);
        assert!(!generate_name(&mut json!({"metadata": {}}), &entropy));
    }

    #[test]
    fn equal_owner_references_are_dropped_in_order() {
        let owner = |uid: &str, name: &str| json!({"uid": uid, "name": name});
        let (a, b, other) = (owner("1", "a"), owner("2", "b"), owner("1", "x"));
        let mut o = json!({"metadata": {"ownerReferences": [a, b, a, other, b]}});
        assert_eq!(dedup_owner_references(&mut o), ["1", "2"]);
        assert_eq!(o["metadata"]["ownerReferences"], json!([a, b, other]));
    }

    #[test]
    fn an_update_keeps_identity_and_deletion() {
        let old = json!({"metadata": {"uid": "u", "creationTimestamp": "t", "generation": 3,
            "deletionTimestamp": "d", "deletionGracePeriodSeconds": 30}});
        let mut new = json!({"metadata": {"generation": 9, "creationTimestamp": "later"}});
        keep_immutable_fields(&mut new, &old);
        assert_eq!(new, old);
        let mut new = json!({"metadata": {"deletionTimestamp": "forged", "generation": 1}});
        keep_immutable_fields(&mut new, &json!({"metadata": {}}));
        assert_eq!(new, json!({"metadata": {}}));
    }

    #[test]
    fn namespaces_are_defaulted_or_rejected() {
        let mut o = json!({"metadata": {}});
        ensure_namespace(&mut o, "a").unwrap();
        assert_eq!(meta_str(&o, "namespace"), "a");
        assert!(ensure_namespace(&mut o, "b").is_err());
        ensure_namespace(&mut o, "").unwrap();
        assert_eq!(o, json!({"metadata": {}}));
    }
}
