//! Visits a custom resource with its schema.

use serde_json::Value;

use kueue_lab_apimachinery::schema::{Schema, ValueType};

/// Calls `visit` with the schema, the value and the path of the value and, in depth-first order, of
/// all values below it that have a schema. Metadata is skipped.
pub(super) fn walk(
    schema: &Schema,
    value: &Value,
    path: &str,
    visit: &mut dyn FnMut(&Schema, &Value, &str),
) {
    visit(schema, value, path);
    match (&schema.value_type, value) {
        (ValueType::Struct(value_type), Value::Object(map)) => {
            for (name, value) in map {
                if let Some(field) = value_type.field(name).filter(|f| f.schema.name.is_empty()) {
                    let dot = if path.is_empty() { "" } else { "." };
                    walk(&field.schema, value, &format!("{path}{dot}{name}"), visit);
                }
            }
        }
        (ValueType::Map(value_type), Value::Object(map)) => {
            for (key, value) in map {
                walk(&value_type.value, value, &format!("{path}[{key}]"), visit);
            }
        }
        (ValueType::List(value_type), Value::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                walk(&value_type.item, item, &format!("{path}[{i}]"), visit);
            }
        }
        _ => {}
    }
}
