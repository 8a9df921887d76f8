//! Validation of type and metadata of embedded resources (`x-kubernetes-embedded-resource`).

use serde_json::Value;

use super::walk::walk;
use kueue_lab_apimachinery::metadata_validation;
use kueue_lab_apimachinery::schema::{Schema, ValueType};
use kueue_lab_field::{FieldError, name_validation};

/// Field errors of all embedded resources below the value.
pub(super) fn validate(schema: &Schema, value: &Value, path: &str) -> Vec<FieldError> {
    let mut out = Vec::new();
    walk(schema, value, path, &mut |schema, value, path| {
        if let (ValueType::Struct(value_type), Value::Object(_)) = (&schema.value_type, value)
            && value_type.embedded
        {
            validate_embedded_resource(value, path, &mut out);
        }
    });
    out
}

fn validate_embedded_resource(value: &Value, path: &str, out: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let here = format!("{path}.{name}");
        match value.get(name) {
            None => out.push(FieldError::required(here, "")),
            Some(Value::String(text)) if text.is_empty() => {
                out.push(FieldError::invalid(here, "", "must not be empty"));
            }
            Some(Value::String(text)) if name == "apiVersion" && text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                out.push(FieldError::invalid(here, text.as_str(), detail));
            }
            Some(Value::String(text)) if name == "kind" => {
                let errors = name_validation::dns1035_label(&text.to_lowercase());
                if !errors.is_empty() {
                    let detail = format!(
                        "may have mixed case, but should otherwise match: {}",
                        errors.join(",")
                    );
                    out.push(FieldError::invalid(here, text.as_str(), detail));
                }
            }
            Some(Value::String(_)) => {}
            Some(other) => {
                out.push(FieldError::invalid(here, other.clone(), "must be a string"));
            }
        }
    }
    if value.get("metadata").is_some_and(Value::is_object) {
        let mut named = serde_json::json!({"metadata": value["metadata"]});
        if named["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .is_empty()
        {
            named["metadata"]["name"] = "fakename".into();
        }
        let namespaced = named["metadata"]["namespace"]
            .as_str()
            .is_some_and(|n| !n.is_empty());
        let errors = metadata_validation::validate_object_meta(
            &named,
            namespaced,
            metadata_validation::object_names::path_segment_name,
        );
        out.extend(errors.into_iter().map(|mut error| {
            error.path = format!("{path}.{}", error.path).into();
            error
        }));
    }
}
