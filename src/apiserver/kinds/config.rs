//! ConfigMaps and Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::check::{Errors, Path};
use super::meta::names;
use super::rules::{Fields, Rules};
use super::value::{Fill, Look};
use crate::field::FieldError;

/// The most bytes the values of one object may have together.
const MAX_SIZE: usize = 1024 * 1024;

/// The rules of ConfigMaps.
pub const CONFIG_MAP: Rules = Rules {
    create: config_map,
    update: |new, old| {
        let mut errors = Errors(unchanged(new, old, &["data", "binaryData"]));
        errors.extend(config_map(new));
        errors.0
    },
    ..Rules::PLAIN
};

fn config_map(object: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let mut size = 0;
    let (data, binary) = (Path::root("data"), Path::root("binaryData"));
    for (key, value) in object.entries("/data") {
        errors.complaints(&data.key(key), key, names::config_key(key));
        if object.at("/binaryData").get(key).is_some() {
            let detail = "duplicate of key present in binaryData";
            errors.invalid(&data.key(key), key.as_str(), detail);
        }
        size += value.as_str().map(str::len).unwrap_or_default();
    }
    for (key, value) in object.entries("/binaryData") {
        errors.complaints(&binary.key(key), key, names::config_key(key));
        size += decoded_len(value);
    }
    if size > MAX_SIZE {
        errors.too_long(&Path::root("[]"), MAX_SIZE);
    }
    errors.0
}

/// Bytes of base64 text.
fn decoded_len(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|b| *b == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// An object that says so cannot change any more.
fn unchanged(new: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if !old.flag("/immutable") {
        return errors.0;
    }
    let detail = "field is immutable when `immutable` is set";
    if !new.flag("/immutable") {
        errors.forbidden(&Path::root("immutable"), detail);
    }
    for field in fields {
        if new.get(*field) != old.get(*field) {
            errors.forbidden(&Path::root(field), detail);
        }
    }
    errors.0
}

/// The rules of Secrets.
pub const SECRET: Rules = Rules {
    fields: Fields::Some(&[("type", "/type", "")]),
    default: |secret| {
        secret.or_set("type", "Opaque");
        take_string_data(secret);
    },
    create: self::secret,
    update: |new, old| {
        let mut errors = Errors::default();
        errors.immutable(&Path::root("type"), new.at("/type"), old.at("/type"));
        errors.extend(unchanged(new, old, &["data"]));
        errors.extend(secret(new));
        errors.0
    },
    ..Rules::PLAIN
};

/// Texts are only a way to write data.
fn take_string_data(secret: &mut Value) {
    let Some(Value::Object(texts)) = secret.take_key("stringData") else {
        return;
    };
    for (key, text) in texts {
        let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
        secret.child("data").put(&key, Some(encoded.into()));
    }
}

fn secret(object: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let data = Path::root("data");
    let mut size = 0;
    for (key, value) in object.entries("/data") {
        errors.complaints(&data.key(key), key, names::config_key(key));
        size += decoded_len(value);
    }
    if size > MAX_SIZE {
        errors.too_long(&data, MAX_SIZE);
    }
    let value = |key: &str| object.at("/data").get(key);
    match object.text("/type") {
        "kubernetes.io/service-account-token" => {
            const NAME: &str = "kubernetes.io/service-account.name";
            if object.annotation(NAME).unwrap_or_default().is_empty() {
                let metadata = Path::root("metadata");
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

fn json_value(errors: &mut Errors, key: &str, value: Option<&Value>) {
    let data = Path::root("data");
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
        let big = json!({"data": {"a": "x".repeat(MAX_SIZE + 1), "b c": ""}});
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
            texts((CONFIG_MAP.update)(&new, &old)),
            ["data: Forbidden: field is immutable when `immutable` is set"]
        );
        let new = json!({"data": {"a": "1"}});
        assert_eq!(
            texts((CONFIG_MAP.update)(&new, &old)),
            ["immutable: Forbidden: field is immutable when `immutable` is set"]
        );
    }

    #[test]
    fn secrets() {
        let mut s = json!({"stringData": {"a": "b"}});
        (SECRET.default)(&mut s);
        assert_eq!(s, json!({"type": "Opaque", "data": {"a": "Yg=="}}));
        let tls = json!({"type": "kubernetes.io/tls"});
        assert_eq!(
            texts(secret(&tls)),
            [
                "data[tls.crt]: Required value",
                "data[tls.key]: Required value"
            ]
        );
        assert_eq!(decoded_len(&json!("Yg==")), 1);
    }
}
