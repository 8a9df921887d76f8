//! Calls typed webhooks with JSON objects.

use kube::Resource;
use kueue_lab_codec::Codec;
use serde_json::Value;

use super::Denial;
use crate::jobs::create_merge_patch;
use crate::jobs::go_struct::encode_as_go;

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

/// Merges the changes of a typed object into `object`. Whether it was changed.
async fn merge_defaults<K: Codec>(
    object: &mut Value,
    default: impl AsyncFnOnce(&mut K) -> Result<(), Denial>,
) -> Result<bool, Denial> {
    let mut typed: K = decode(object)?;
    let value = |typed: &K| typed.to_value().unwrap_or_default();
    let before = value(&typed);
    default(&mut typed).await?;
    let after = value(&typed);
    if before == after {
        return Ok(false);
    }
    json_patch::merge(object, &create_merge_patch(&before, &after));
    Ok(true)
}

/// Defaults a typed object of a custom kind. If a default changes it, the patch is that of
/// controller-runtime: from `object` to the encoded Go type, without the removals of fields that
/// only the encoding omits.
///
/// # Errors
/// The object cannot be decoded, or is denied.
pub(crate) async fn mutate_custom_kind<K: Codec + Resource<DynamicType = ()>>(
    object: &mut Value,
    default: impl AsyncFnOnce(&mut K) -> Result<(), Denial>,
) -> Result<(), Denial> {
    let mut defaulted = object.clone();
    if !merge_defaults(&mut defaulted, default).await? {
        return Ok(());
    }
    // The API server ignores the status of a new object.
    let encode = |object: Value| {
        let mut encoded = encode_as_go::<K>(object);
        if let Value::Object(fields) = &mut encoded {
            fields.remove("status");
        }
        encoded
    };
    let original = encode(object.clone());
    patch(object, encode(defaulted), Some(&original));
    Ok(())
}

/// Changes `object` to `encoded`, except that it keeps fields that `original`, the encoding of
/// `object` itself, omits.
fn patch(object: &mut Value, encoded: Value, original: Option<&Value>) {
    match (object, encoded) {
        (Value::Object(fields), Value::Object(encoded)) => {
            let original = original.and_then(Value::as_object);
            let is_omitted = |name: &str| original.is_some_and(|o| !o.contains_key(name));
            fields.retain(|name, _| encoded.contains_key(name) || is_omitted(name));
            for (name, value) in encoded {
                let original = original.and_then(|original| original.get(&name));
                match fields.get_mut(&name) {
                    Some(field) => patch(field, value, original),
                    None => {
                        fields.insert(name, value);
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(encoded)) => {
            items.truncate(encoded.len());
            for (index, value) in encoded.into_iter().enumerate() {
                let original = original.and_then(|original| original.get(index));
                match items.get_mut(index) {
                    Some(item) => patch(item, value, original),
                    None => items.push(value),
                }
            }
        }
        (object, encoded) => *object = encoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::job_set::JobSet;
    use serde_json::json;

    #[test]
    fn a_patch_keeps_what_only_the_encoding_omits() {
        let mut object =
            json!({"a": {"x": 0, "cpu": 4, "y": 1}, "l": [{"u": 0}, 1, 2], "gone": {"u": 0}});
        let original =
            json!({"a": {"cpu": "4", "m": {}, "y": 1}, "l": [{"n": {}}, 1, 2], "gone": {}});
        let encoded = json!({"a": {"cpu": "4", "m": {}}, "l": [{"n": {}, "new": 1}, 1]});
        patch(&mut object, encoded, Some(&original));
        assert_eq!(
            object,
            json!({"a": {"x": 0, "cpu": "4", "m": {}}, "l": [{"u": 0, "n": {}, "new": 1}, 1]})
        );
    }

    /// The API server defaults the field only if a later write omits it.
    #[tokio::test]
    async fn a_webhook_keeps_zero_values() {
        let mut object = json!({
            "metadata": {"name": "s"},
            "spec": {"replicatedJobs": [{"name": "a", "replicas": 0, "template": {"spec": {
                "template": {"spec": {"containers": [{"name": "c"}], "tolerations": []}},
            }}}]},
        });
        let unchanged = object.clone();
        let nothing = mutate_custom_kind::<JobSet>(&mut object, async |_| Ok(()));
        nothing.await.unwrap();
        assert_eq!(object, unchanged);
        let suspend = mutate_custom_kind::<JobSet>(&mut object, async |set| {
            set.spec.suspend = Some(true);
            Ok(())
        });
        suspend.await.unwrap();
        assert_eq!(
            object["spec"],
            json!({"suspend": true, "replicatedJobs": [{
                "name": "a", "replicas": 0, "template": {"metadata": {}, "spec": {
                    "template": {"metadata": {}, "spec": {
                        "containers": [{"name": "c", "resources": {}}], "tolerations": [],
                    }},
                }},
            }]})
        );
    }
}
