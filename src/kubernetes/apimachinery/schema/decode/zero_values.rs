//! Encoding of unset fields in Go: zero values, `omitempty` and `omitzero`.

use serde_json::{Map, Value};

use crate::schema::{AnyType, Field, Presence, Schema, StructSchema, ValueType, scalar};

/// The encoding of an unset struct of this type; null for other types.
pub fn zero(schema: &Schema) -> Value {
    match &schema.value_type {
        ValueType::Struct(s) => {
            let mut map = Map::new();
            fill(s, &mut map);
            Value::Object(map)
        }
        value_type => scalar::zero(value_type).unwrap_or(Value::Null),
    }
}

/// Adds the unset fields that Go encodes.
pub(super) fn fill(value_type: &StructSchema, map: &mut Map<String, Value>) {
    for field in value_type.fields.iter() {
        if !map.contains_key(&*field.name)
            && let Some(value) = zero_of_unset_field(field)
        {
            map.insert(field.name.to_string(), value);
        }
    }
}

/// The encoding of an unset field; `None` if it is omitted.
fn zero_of_unset_field(field: &Field) -> Option<Value> {
    match field.presence {
        Presence::Always if field.pointer => Some(Value::Null),
        Presence::Always => Some(zero(&field.schema)),
        // `omitempty` does not omit structs.
        Presence::OmitEmpty if !field.pointer => match &field.schema.value_type {
            ValueType::Struct(_) => Some(zero(&field.schema)),
            ValueType::Time | ValueType::MicroTime | ValueType::Any(AnyType::Atomic) => {
                Some(Value::Null)
            }
            ValueType::IntOrString => Some(0.into()),
            ValueType::Quantity => Some("0".into()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether Go omits the field with this decoded value.
pub(super) fn omitted(field: &Field, value: &Value) -> bool {
    if field.name == "managedFields" && value.is_array() {
        return false; // an empty list resets `managedFields`
    }
    let empty = match value {
        Value::Null => true,
        _ if field.pointer => false,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
    };
    match field.presence {
        Presence::Always => false,
        Presence::OmitZero => empty,
        Presence::OmitEmpty => {
            let written_always = !field.pointer
                && matches!(
                    field.schema.value_type,
                    ValueType::Struct(_)
                        | ValueType::Time
                        | ValueType::MicroTime
                        | ValueType::IntOrString
                        | ValueType::Quantity
                        | ValueType::Any(AnyType::Atomic)
                );
            empty && !written_always
        }
    }
}

/// Whether this is an empty list or map.
pub(super) fn empty_collection(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
