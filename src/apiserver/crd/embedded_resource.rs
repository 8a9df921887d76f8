//! Validation of type and metadata of embedded resources (`x-kubernetes-embedded-resource`).

use serde_json::Value;

use crate::apimachinery::metadata_validation;
use crate::schema::{Schema, ValueType};
use kueue_lab_field::FieldError;

/// Field errors of all embedded resources below the value.
pub(super) fn validate(schema: &Schema, value: &Value, path: &str) -> Vec<FieldError> {
    let mut out = Vec::new();
    walk(schema, value, path, &mut out);
    out
}

fn walk(schema: &Schema, value: &Value, path: &str, out: &mut Vec<FieldError>) {
    match (&schema.value_type, value) {
        (ValueType::Struct(value_type), Value::Object(map)) => {
            if value_type.embedded {
                validate_embedded_resource(value, path, out);
            }
            for (name, value) in map {
                if let Some(field) = value_type.field(name).filter(|f| f.schema.name.is_empty()) {
                    let dot = if path.is_empty() { "" } else { "." };
                    walk(&field.schema, value, &format!("{path}{dot}{name}"), out);
                }
            }
        }
        (ValueType::Map(value_type), Value::Object(map)) => {
            for (key, value) in map {
                walk(&value_type.value, value, &format!("{path}[{key}]"), out);
            }
        }
        (ValueType::List(value_type), Value::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                walk(&value_type.item, item, &format!("{path}[{i}]"), out);
            }
        }
        _ => {}
    }
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
                let why = format!("unexpected GroupVersion string: {text}");
                out.push(FieldError::invalid(here, text.as_str(), why));
            }
            Some(Value::String(text)) if name == "kind" => {
                let errors =
                    metadata_validation::name_validation::dns1035_label(&text.to_lowercase());
                if !errors.is_empty() {
                    let why = format!(
                        "may have mixed case, but should otherwise match: {}",
                        errors.join(",")
                    );
                    out.push(FieldError::invalid(here, text.as_str(), why));
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
            metadata_validation::name_validation::path_segment_name,
        );
        out.extend(errors.into_iter().map(|mut error| {
            error.path = format!("{path}.{}", error.path).into();
            error
        }));
    }
}
