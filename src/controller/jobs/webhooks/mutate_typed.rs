//! Calls typed webhooks with JSON objects.

use kueue_lab_codec::Codec;
use serde_json::Value;

use super::Denial;
use crate::jobs::create_merge_patch;

/// Decodes the old object of an update.
///
/// # Errors
/// The object does not have the form of its kind.
pub(crate) fn decode_old<K: Codec>(old: Option<&Value>) -> Result<Option<K>, Denial> {
    old.map(decode).transpose()
}

/// Decodes an object.
///
/// # Errors
/// The object does not have the form of its kind.
pub(crate) fn decode<K: Codec>(object: &Value) -> Result<K, Denial> {
    K::from_value(object).map_err(|error| Denial::Other(error.to_string()))
}

/// Defaults a typed object and merges the changes into `object`, which keeps unknown fields.
///
/// # Errors
/// The object cannot be decoded, or is denied.
pub(crate) async fn mutate_typed<K: Codec>(
    object: &mut Value,
    default: impl AsyncFnOnce(&mut K) -> Result<(), Denial>,
) -> Result<(), Denial> {
    merge_defaults(object, default).await.map(drop)
}

/// Merges the changes of a typed object into `object`. Returns the encoded typed object if it was
/// changed.
async fn merge_defaults<K: Codec>(
    object: &mut Value,
    default: impl AsyncFnOnce(&mut K) -> Result<(), Denial>,
) -> Result<Option<Value>, Denial> {
    let mut typed: K = decode(object)?;
    let value = |typed: &K| typed.to_value().unwrap_or_default();
    let before = value(&typed);
    default(&mut typed).await?;
    let after = value(&typed);
    if before == after {
        return Ok(None);
    }
    json_patch::merge(object, &create_merge_patch(&before, &after));
    Ok(Some(after))
}

/// Defaults a typed object of a custom kind. If a default changes it, `object` also gets all fields
/// of the encoded type, because upstream replaces the object by its encoded Go struct; unknown
/// fields and the status are kept.
///
/// # Errors
/// The object cannot be decoded, or is denied.
pub(crate) async fn mutate_custom_kind<K: Codec>(
    object: &mut Value,
    default: impl AsyncFnOnce(&mut K) -> Result<(), Denial>,
) -> Result<(), Denial> {
    let Some(mut after) = merge_defaults(object, default).await? else {
        return Ok(());
    };
    if let Value::Object(fields) = &mut after {
        fields.remove("status");
    }
    overlay(object, after);
    Ok(())
}

/// Sets all fields of `encoded`; other fields stay.
fn overlay(object: &mut Value, encoded: Value) {
    match (object, encoded) {
        (Value::Object(fields), Value::Object(encoded)) => {
            for (name, value) in encoded {
                match fields.get_mut(&name) {
                    Some(field) => overlay(field, value),
                    None => {
                        fields.insert(name, value);
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(encoded)) if items.len() == encoded.len() => {
            for (item, value) in items.iter_mut().zip(encoded) {
                overlay(item, value);
            }
        }
        (object, encoded) => *object = encoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn overlay_keeps_unknown_fields() {
        let mut object = json!({"a": {"x": 1, "cpu": 4}, "l": [{"u": true}]});
        overlay(
            &mut object,
            json!({"a": {"cpu": "4", "m": {}}, "l": [{"n": {}}]}),
        );
        assert_eq!(
            object,
            json!({"a": {"x": 1, "cpu": "4", "m": {}}, "l": [{"u": true, "n": {}}]})
        );
    }
}
