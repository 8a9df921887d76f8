//! ConfigMaps and Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::builtin_strategy::{BuiltinStrategy, SelectableFields};
use crate::apimachinery::error_list::ErrorList;
use crate::apimachinery::field_error::FieldError;
use crate::apimachinery::field_path::FieldPath;
use crate::apimachinery::metadata_validation::name_validation;
use crate::apimachinery::value_ext::{ValueExt, ValueMutExt};

/// The most bytes the values of one object may have together.
const MAX_SECRET_SIZE: usize = 1024 * 1024;

/// The rules of ConfigMaps.
pub const CONFIG_MAP: BuiltinStrategy = BuiltinStrategy {
    validate_create: config_map,
    validate_update: |new, old| {
        let mut errors = ErrorList(validate_immutable(new, old, &["data", "binaryData"]));
        errors.extend(config_map(new));
        errors.0
    },
    ..BuiltinStrategy::DEFAULT
};

fn config_map(object: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let mut size = 0;
    let (data, binary) = (FieldPath::root("data"), FieldPath::root("binaryData"));
    for (key, value) in object.entries("/data") {
        errors.invalid_for_each(&data.key(key), key, name_validation::config_map_key(key));
        if object.at("/binaryData").get(key).is_some() {
            let detail = "duplicate of key present in binaryData";
            errors.invalid(&data.key(key), key.as_str(), detail);
        }
        size += value.as_str().map(str::len).unwrap_or_default();
    }
    for (key, value) in object.entries("/binaryData") {
        errors.invalid_for_each(&binary.key(key), key, name_validation::config_map_key(key));
        size += base64_decoded_len(value);
    }
    if size > MAX_SECRET_SIZE {
        errors.too_long(&FieldPath::root("[]"), MAX_SECRET_SIZE);
    }
    errors.0
}

/// Bytes of base64 text.
fn base64_decoded_len(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|b| *b == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// An object that says so cannot change any more.
fn validate_immutable(new: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    if !old.flag("/immutable") {
        return errors.0;
    }
    let detail = "field is immutable when `immutable` is set";
    if !new.flag("/immutable") {
        errors.forbidden(&FieldPath::root("immutable"), detail);
    }
    for field in fields {
        if new.get(*field) != old.get(*field) {
            errors.forbidden(&FieldPath::root(field), detail);
        }
    }
    errors.0
}

/// The rules of Secrets.
pub const SECRET: BuiltinStrategy = BuiltinStrategy {
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

/// Texts are only a way to write data.
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

fn secret(object: &Value) -> Vec<FieldError> {
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
            // Kubernetes names the user twice.
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

    fn texts(errors: Vec<FieldError>) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn config_maps() {
        let big = json!({"data": {"a": "x".repeat(MAX_SECRET_SIZE + 1), "b c": ""}});
        let errors = texts(config_map(&big));
        assert!(
            errors[0].starts_with("data[b c]: Invalid value: \"b c\": a valid config key must")
        );
        assert_eq!(
            errors[1],
            "[]: Too long: may not be more than 1048576 bytes"
        );
        let old = json!({"immutable": true, "data": {"a": "1"}});
        let new = json!({"immutable": true, "data": {"a": "2"}});
        assert_eq!(
            texts((CONFIG_MAP.validate_update)(&new, &old)),
            ["data: Forbidden: field is immutable when `immutable` is set"]
        );
        let new = json!({"data": {"a": "1"}});
        assert_eq!(
            texts((CONFIG_MAP.validate_update)(&new, &old)),
            ["immutable: Forbidden: field is immutable when `immutable` is set"]
        );
    }

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
