//! Access to fields of an `openAPIV3Schema`.

use serde_json::Value;

/// Whether a field is set to a value other than the zero value of its Go type.
pub(super) fn is_set(schema: &Value, field: &str) -> bool {
    match schema.get(field) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(s)) => !s.is_empty(),
        Some(Value::Array(a)) => !a.is_empty(),
        Some(_) => true,
    }
}

/// A string field; empty if unset.
pub(super) fn text<'a>(schema: &'a Value, field: &str) -> &'a str {
    schema
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The items of a list field.
pub(super) fn list<'a>(schema: &'a Value, field: &str) -> &'a [Value] {
    schema
        .get(field)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The schemas in a field that is a map of schemas.
pub(super) fn schema_map<'a>(
    schema: &'a Value,
    field: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    schema
        .get(field)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// The schema in a field that may also be a boolean or a list.
pub(super) fn schema_field<'a>(schema: &'a Value, field: &str) -> Option<&'a Value> {
    schema.get(field).filter(|v| v.is_object())
}

/// Calls `f` with the schema and all nested schemas.
pub(super) fn each<'a>(schema: &'a Value, f: &mut impl FnMut(&'a Value)) {
    if !schema.is_object() {
        return;
    }
    f(schema);
    for field in ["items", "not", "additionalProperties", "additionalItems"] {
        if let Some(below) = schema_field(schema, field) {
            each(below, f);
        }
    }
    for field in ["items", "allOf", "anyOf", "oneOf"] {
        list(schema, field).iter().for_each(|s| each(s, f));
    }
    for field in [
        "properties",
        "patternProperties",
        "definitions",
        "dependencies",
    ] {
        schema_map(schema, field).for_each(|(_, s)| each(s, f));
    }
}
