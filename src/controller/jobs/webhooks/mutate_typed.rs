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
    let mut typed: K = decode(object)?;
    let value = |typed: &K| typed.to_value().unwrap_or_default();
    let before = value(&typed);
    default(&mut typed).await?;
    let changes = create_merge_patch(&before, &value(&typed));
    if changes.as_object().is_some_and(|map| !map.is_empty()) {
        json_patch::merge(object, &changes);
    }
    Ok(())
}
