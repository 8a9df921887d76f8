//! Labels and label selectors: validation and matching.

use serde_json::Value;

use crate::label_selector::LabelSelector;
use kueue_lab_component_helpers::label_selector_validation::{
    validate_label_selector_json, validate_labels,
};
use kueue_lab_field::{FieldError, Path};
use kueue_lab_json::ValueExt;

/// Field errors of labels.
pub fn validate(labels: &Value, path: &str) -> Vec<FieldError> {
    let labels = labels.entries("");
    let labels = labels.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()));
    validate_labels(labels, &Path::from(path))
}

/// Field errors of a `LabelSelector`.
pub fn validate_selector(selector: &Value, path: &str) -> Vec<FieldError> {
    validate_label_selector_json(selector, &Path::from(path))
}

/// Whether a selector has no requirements, so it matches all objects.
pub fn is_empty_selector(selector: &Value) -> bool {
    selector.entries("/matchLabels").next().is_none()
        && selector.list("/matchExpressions").is_empty()
}

/// Whether a `LabelSelector` matches labels. A null selector matches nothing, an empty one matches
/// everything.
pub fn selector_matches(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    selector.is_object() && LabelSelector::from_object(selector).matches(label)
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
