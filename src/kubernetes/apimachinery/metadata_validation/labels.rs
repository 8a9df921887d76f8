//! Labels and label selectors: validation and matching.

use serde_json::{Map, Value};

use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

/// Field errors of labels.
pub fn validate(labels: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.entries("") {
        for message in name_validation::qualified_name(key) {
            errors.push(FieldError::invalid(path, key.as_str(), message));
        }
        let value = value.as_str().unwrap_or_default();
        for message in name_validation::label_value(value) {
            errors.push(FieldError::invalid(path, value, message));
        }
    }
    errors
}

/// Field errors of a `LabelSelector`.
pub fn validate_selector(selector: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = validate(selector.at("/matchLabels"), &format!("{path}.matchLabels"));
    for (i, term) in selector.list("/matchExpressions").iter().enumerate() {
        errors.extend(validate_requirement(
            term,
            &format!("{path}.matchExpressions[{i}]"),
        ));
    }
    errors
}

fn validate_requirement(term: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let values = term.list("/values");
    match term.text("/operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            format!("{path}.values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "In" | "NotIn" => {}
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            format!("{path}.values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Exists" | "DoesNotExist" => {}
        other => errors.push(FieldError::invalid(
            format!("{path}.operator"),
            other,
            "not a valid selector operator",
        )),
    }
    let key = term.text("/key");
    for message in name_validation::qualified_name(key) {
        errors.push(FieldError::invalid(format!("{path}.key"), key, message));
    }
    for (i, value) in values.iter().filter_map(Value::as_str).enumerate() {
        for message in name_validation::label_value(value) {
            errors.push(FieldError::invalid(
                format!("{path}.values[{i}]"),
                value,
                message,
            ));
        }
    }
    errors
}

/// Whether a selector has no requirements, so it matches all objects.
pub fn is_empty_selector(selector: &Value) -> bool {
    selector.entries("/matchLabels").next().is_none()
        && selector.list("/matchExpressions").is_empty()
}

/// Whether a `LabelSelector` matches labels. A null selector matches nothing, an empty one matches
/// everything.
pub fn selector_matches(selector: &Value, labels: &Value) -> bool {
    if !selector.is_object() {
        return false;
    }
    let empty = Map::new();
    let labels = labels.as_object().unwrap_or(&empty);
    let equal = selector
        .entries("/matchLabels")
        .all(|(k, v)| labels.get(k) == Some(v));
    equal
        && selector.list("/matchExpressions").iter().all(|term| {
            let value = labels.get(term.text("/key"));
            let among = || value.is_some_and(|v| term.list("/values").contains(v));
            match term.text("/operator") {
                "In" => among(),
                "NotIn" => !among(),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

/// A label selector as Go prints the struct: `matchLabels` before `matchExpressions`.
pub fn go_selector_string(selector: &Value) -> String {
    if selector.is_null() {
        return "null".into();
    }
    let mut parts = Vec::new();
    if selector.entries("/matchLabels").next().is_some() {
        parts.push(format!("\"matchLabels\":{}", selector.at("/matchLabels")));
    }
    if !selector.list("/matchExpressions").is_empty() {
        let term = |t: &Value| {
            let mut s = format!(
                "{{\"key\":{},\"operator\":{}",
                t.at("/key"),
                t.at("/operator")
            );
            if !t.list("/values").is_empty() {
                s.push_str(&format!(",\"values\":{}", t.at("/values")));
            }
            s + "}"
        };
        let terms: Vec<String> = selector
            .list("/matchExpressions")
            .iter()
            .map(term)
            .collect();
        parts.push(format!("\"matchExpressions\":[{}]", terms.join(",")));
    }
    format!("{{{}}}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_select() {
        let labels = json!({"a": "1", "b": "2"});
        let selects = |s: Value| selector_matches(&s, &labels);
        assert!(selects(json!({})) && !selects(Value::Null));
        assert!(selects(json!({"matchLabels": {"a": "1"}})));
        assert!(!selects(json!({"matchLabels": {"a": "1", "c": "1"}})));
        let term = |k: &str, op: &str, v: Value| json!({"matchExpressions": [{"key": k, "operator": op, "values": v}]});
        assert!(
            selects(term("a", "In", json!(["0", "1"]))) && !selects(term("c", "In", json!(["1"])))
        );
        assert!(
            selects(term("c", "NotIn", json!(["1"]))) && !selects(term("a", "NotIn", json!(["1"])))
        );
        assert!(
            selects(term("a", "Exists", json!([])))
                && selects(term("c", "DoesNotExist", json!([])))
        );
    }

    #[test]
    fn selectors_are_checked_and_shown() {
        let s = json!({"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "b c", "operator": "Foo", "values": ["-"]}],
            "matchLabels": {"z": "y"}});
        let errors: Vec<String> = validate_selector(&s, "spec.selector")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            errors[0],
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
        );
        assert_eq!(
            errors[1],
            r#"spec.selector.matchExpressions[1].operator: Invalid value: "Foo": not a valid selector operator"#
        );
        assert_eq!(errors.len(), 4);
        assert_eq!(
            go_selector_string(&s),
            r#"{"matchLabels":{"z":"y"},"matchExpressions":[{"key":"a","operator":"In"},{"key":"b c","operator":"Foo","values":["-"]}]}"#
        );
    }
}
