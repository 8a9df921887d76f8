//! Defaulting of custom resources by their structural schema.

use serde_json::Value;

use super::{Schema, ValueType};

/// Sets the defaults of the schema of a custom resource.
pub fn default(schema: &Schema, value: &mut Value) {
    match (&schema.value_type, value) {
        (ValueType::Struct(value_type), Value::Object(map)) => {
            for field in value_type.fields.iter() {
                let Some(default) = &field.default else {
                    continue;
                };
                let unset = match map.get(&*field.name) {
                    None => true,
                    Some(value) => value.is_null() && !field.schema.nullable,
                };
                if unset {
                    map.insert(field.name.to_string(), default.clone());
                }
            }
            for (name, value) in map.iter_mut() {
                if let Some(field) = value_type.field(name).filter(|f| f.schema.name.is_empty()) {
                    default(&field.schema, value);
                }
            }
        }
        (ValueType::Map(value_type), Value::Object(map)) => {
            map.values_mut()
                .for_each(|value| default(&value_type.value, value));
        }
        (ValueType::List(value_type), Value::Array(items)) => {
            items
                .iter_mut()
                .for_each(|item| default(&value_type.item, item));
        }
        _ => {}
    }
}
