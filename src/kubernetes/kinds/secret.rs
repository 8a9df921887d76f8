//! Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::builtin_strategy::{BuiltinStrategy, SelectableFields};
use super::config_map::{base64_decoded_len, validate_immutable};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Maximum total size of the values of one object, in bytes.
pub(super) const MAX_SECRET_SIZE: usize = 1024 * 1024;

/// Strategy of Secrets.
pub(super) const SECRET: BuiltinStrategy = BuiltinStrategy {
    selectable_fields: SelectableFields::Some(&[("type", "/type", "")]),
    set_defaults: |secret| {
        secret.set_default("type", "Opaque");
        merge_string_data(secret);
    },
    validate_create: self::secret,
    validate_update: |new, old| {
        let mut errors = ErrorList::default();
        errors.immutable(&FieldPath::root("type"), new.at("/type"), old.at("/type"));
        errors.extend(validate_immutable(new, old, &["data"]));
        errors.extend(secret(new));
        errors.0
    },
    ..BuiltinStrategy::DEFAULT
};

/// Moves the write-only `stringData` into `data`.
fn merge_string_data(secret: &mut Value) {
    let Some(Value::Object(texts)) = secret.remove_key("stringData") else {
        return;
    };
    for (key, text) in texts {
        let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
        secret
            .object_mut("data")
            .set_or_remove(&key, Some(encoded.into()));
    }
}

pub(super) fn secret(object: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let data = FieldPath::root("data");
    let mut size = 0;
    for (key, value) in object.entries("/data") {
        errors.invalid_for_each(&data.key(key), key, name_validation::config_map_key(key));
        size += base64_decoded_len(value);
    }
    if size > MAX_SECRET_SIZE {
        errors.too_long(&data, MAX_SECRET_SIZE);
    }
    let value = |key: &str| object.at("/data").get(key);
    match object.text("/type") {
        "kubernetes.io/service-account-token" => {
            const NAME: &str = "kubernetes.io/service-account.name";
            if object.annotation(NAME).unwrap_or_default().is_empty() {
                let metadata = FieldPath::root("metadata");
                let annotations = metadata.child("annotations");
                errors.required(&annotations.key(NAME), "");
            }
        }
        "kubernetes.io/dockercfg" => json_value(&mut errors, ".dockercfg", value(".dockercfg")),
        "kubernetes.io/dockerconfigjson" => {
            json_value(&mut errors, ".dockerconfigjson", value(".dockerconfigjson"));
        }
        "kubernetes.io/basic-auth"
            if value("username").is_none() && value("password").is_none() =>
        {
            // At least one of username and password is required.
            errors.required(&data.key("username"), "");
            errors.required(&data.key("password"), "");
        }
        "kubernetes.io/ssh-auth" if value("ssh-privatekey").is_none_or(|v| v == "") => {
            errors.required(&data.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if value(key).is_none() {
                    errors.required(&data.key(key), "");
                }
            }
        }
        _ => {}
    }
    errors.0
}

fn json_value(errors: &mut ErrorList, key: &str, value: Option<&Value>) {
    let data = FieldPath::root("data");
    let path = data.key(key);
    let Some(text) = value.and_then(Value::as_str) else {
        errors.required(&path, "");
        return;
    };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    if let Err(why) = serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes) {
        errors.invalid(&path, "<secret contents redacted>", why.to_string());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kueue_lab_testing::texts;

    #[test]
    fn secrets() {
        let mut s = json!({"stringData": {"a": "b"}});
        (SECRET.set_defaults)(&mut s);
        assert_eq!(s, json!({"type": "Opaque", "data": {"a": "Yg=="}}));
        let tls = json!({"type": "kubernetes.io/tls"});
        assert_eq!(
            texts(secret(&tls)),
            [
                "data[tls.crt]: Required value",
                "data[tls.key]: Required value"
            ]
        );
        assert_eq!(base64_decoded_len(&json!("Yg==")), 1);
    }
}
