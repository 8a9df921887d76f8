//! JSON merge patch (RFC 7386). As in the Go library of Kubernetes, nulls are also pruned inside
//! lists.

use serde_json::{Map, Value};

use crate::api_error::ApiError;
use crate::schema::strict_json::{ParsedBody, parse};

/// Parses a merge patch; also returns its strict decoding errors.
pub(super) fn read(body: &[u8], strict: bool) -> Result<(Value, Vec<String>), ApiError> {
    let bad = |text: String| {
        if strict {
            ApiError::bad_request(format!("error decoding patch: {text}"))
        } else {
            ApiError::bad_request("Invalid JSON Patch")
        }
    };
    let ParsedBody { value, duplicates } = parse(body).map_err(|error| bad(error.to_string()))?;
    let kind = match &value {
        Value::Object(_) => {
            let errors = duplicates.iter().map(|p| format!("duplicate field {p:?}"));
            let errors = if strict { errors.collect() } else { Vec::new() };
            return Ok((value, errors));
        }
        Value::Null => return Err(ApiError::bad_request("Invalid JSON Patch")),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    let text =
        format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
    Err(bad(text))
}

/// Merges `patch` into `target`.
pub(super) fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        discard_nulls(target);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, change) in changes {
        if change.is_null() {
            map.remove(key);
        } else {
            apply(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// Removes null members of objects, including objects in lists; null list items remain.
pub(super) fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(target: Value, patch: Value) -> Value {
        let mut target = target;
        apply(&mut target, &patch);
        target
    }

    #[test]
    fn nulls_remove_and_lists_replace() {
        assert_eq!(
            merged(json!({"a": 1, "b": [1]}), json!({"a": null, "b": [2]})),
            json!({"b": [2]})
        );
        assert_eq!(
            merged(json!({}), json!({"a": {"b": null, "c": {}}})),
            json!({"a": {"c": {}}})
        );
        assert_eq!(
            merged(json!({"a": "x"}), json!({"a": {"b": 1}})),
            json!({"a": {"b": 1}})
        );
        assert_eq!(
            merged(json!({}), json!({"l": [{"a": null, "b": 1}, null]})),
            json!({"l": [{"b": 1}, null]})
        );
    }

    #[test]
    fn non_objects_are_rejected() {
        let text = |s: &str| read(s.as_bytes(), true).unwrap_err().message;
        assert_eq!(text("null"), "Invalid JSON Patch");
        assert_eq!(
            text("{"),
            "error decoding patch: unexpected end of JSON input"
        );
        assert!(text("[]").starts_with("error decoding patch: json: cannot unmarshal array"));
    }
}
