//! ConfigMaps.

use serde_json::Value;

use super::builtin_strategy::BuiltinStrategy;
use super::secret::MAX_SECRET_SIZE;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

/// Strategy of ConfigMaps.
pub(super) const CONFIG_MAP: BuiltinStrategy = BuiltinStrategy {
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

/// Decoded length of a base64 string, in bytes.
pub(super) fn base64_decoded_len(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|b| *b == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// Validates that the fields of an object with `immutable: true` are unchanged.
pub(super) fn validate_immutable(new: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kueue_lab_testing::texts;

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
}
