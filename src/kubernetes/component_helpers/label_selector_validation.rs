//! Validation of labels and label selectors (`k8s.io/apimachinery/pkg/apis/meta/v1/validation`).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use kueue_lab_field::{FieldError, FieldErrors, Path, name_validation};

/// Field errors of a label key.
pub fn validate_label_name(name: &str, path: &Path) -> FieldErrors {
    FieldError::invalid_for_each(path, name, name_validation::qualified_name(name))
}

/// Field errors of labels.
pub fn validate_labels<'a>(
    labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    path: &Path,
) -> FieldErrors {
    let mut errors = FieldErrors::new();
    for (key, value) in labels {
        errors.extend(validate_label_name(key, path));
        errors.extend(FieldError::invalid_for_each(
            path,
            value,
            name_validation::label_value(value),
        ));
    }
    errors
}

/// Field errors of a label selector.
pub fn validate_label_selector(selector: &LabelSelector, path: &Path) -> FieldErrors {
    let labels = selector.match_labels.iter().flatten();
    let labels = labels.map(|(key, value)| (key.as_str(), value.as_str()));
    let mut errors = validate_labels(labels, &path.child("matchLabels"));
    for (i, term) in selector.match_expressions.iter().flatten().enumerate() {
        let values: Vec<&str> = term.values.iter().flatten().map(String::as_str).collect();
        let path = path.child("matchExpressions").index(i);
        errors.extend(validate_requirement(
            &term.key,
            &term.operator,
            &values,
            &path,
        ));
    }
    errors
}

/// Field errors of a label selector as JSON.
pub fn validate_label_selector_json(selector: &Value, path: &Path) -> FieldErrors {
    fn text(value: &Value) -> &str {
        value.as_str().unwrap_or_default()
    }
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| (key.as_str(), text(value)));
    let mut errors = validate_labels(labels, &path.child("matchLabels"));
    let terms = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    for (i, term) in terms.enumerate() {
        let values: Vec<&str> = term["values"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        let path = path.child("matchExpressions").index(i);
        errors.extend(validate_requirement(
            text(&term["key"]),
            text(&term["operator"]),
            &values,
            &path,
        ));
    }
    errors
}

fn validate_requirement(key: &str, operator: &str, values: &[&str], path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let values_path = path.child("values");
    match operator {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            &values_path,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "In" | "NotIn" => {}
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            &values_path,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Exists" | "DoesNotExist" => {}
        other => errors.push(FieldError::invalid(
            &path.child("operator"),
            other,
            "not a valid selector operator",
        )),
    }
    errors.extend(validate_label_name(key, &path.child("key")));
    for (i, value) in values.iter().enumerate() {
        let of_value = name_validation::label_value(value);
        errors.extend(FieldError::invalid_for_each(
            &values_path.index(i),
            value,
            of_value,
        ));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_validated_typed_and_as_json() {
        let selector = json!({"matchLabels": {"z": "y", "a b": ""}, "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "b c", "operator": "Foo", "values": ["-"]},
            {"key": "d", "operator": "Exists", "values": ["e"]},
        ]});
        let path = Path::new("spec").child("selector");
        let errors = validate_label_selector_json(&selector, &path);
        let typed: LabelSelector = serde_json::from_value(selector).unwrap();
        let texts =
            |errors: FieldErrors| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let errors = texts(errors);
        assert_eq!(errors, texts(validate_label_selector(&typed, &path)));
        let starts = [
            r#"spec.selector.matchLabels: Invalid value: "a b": name part must consist"#,
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            r#"spec.selector.matchExpressions[1].operator: Invalid value: "Foo": not a valid selector operator"#,
            r#"spec.selector.matchExpressions[1].key: Invalid value: "b c": name part must consist"#,
            r#"spec.selector.matchExpressions[1].values[0]: Invalid value: "-": a valid label must be"#,
            "spec.selector.matchExpressions[2].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ];
        assert_eq!(errors.len(), starts.len(), "{errors:?}");
        for (error, start) in errors.iter().zip(starts) {
            assert!(error.starts_with(start), "{error}");
        }
    }
}
