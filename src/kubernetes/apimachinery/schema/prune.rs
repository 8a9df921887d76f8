//! Decoding of custom resources: prunes and reports unknown fields, drops non-nullable nulls
//! without default, and coerces metadata.

use serde_json::{Map, Value};

use super::decode::{DecodeError, DecodeSource, decode_at};
use super::{Field, Schema, StructSchema, ValueType};
use kueue_lab_field::FieldError;

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Decodes a custom resource in place. Returns the paths of unknown fields, sorted.
///
/// # Errors
/// The metadata, or that of an embedded resource, cannot be decoded.
pub(super) fn decode_custom_resource(
    schema: &Schema,
    value: &mut Value,
) -> Result<Vec<String>, DecodeError> {
    let mut unknown = Vec::new();
    if let Some(metadata) = value.get_mut("metadata") {
        coerce_metadata(metadata, "metadata", &mut unknown)?;
    }
    if let (ValueType::Struct(value_type), Value::Object(map)) = (&schema.value_type, &mut *value) {
        fields(value_type, map, "", true, &mut unknown)?;
    }
    unknown.sort();
    Ok(unknown)
}

/// Prunes a value of a custom resource. Returns the paths of unknown fields.
///
/// # Errors
/// The metadata of an embedded resource cannot be decoded.
pub fn prune(schema: &Schema, value: &mut Value) -> Result<Vec<String>, DecodeError> {
    let mut unknown = Vec::new();
    prune_value(schema, value, "", &mut unknown)?;
    Ok(unknown)
}

/// Coerces `metadata` to a canonical ObjectMeta.
fn coerce_metadata(
    metadata: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    let Some(schema) = super::find_named_type("meta.v1.ObjectMeta") else {
        return Ok(());
    };
    unknown.extend(decode_at(&schema, metadata, DecodeSource::Json, path)?);
    Ok(())
}

fn prune_value(
    schema: &Schema,
    value: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    match (&schema.value_type, value) {
        (ValueType::Struct(value_type), Value::Object(map)) => {
            fields(value_type, map, path, false, unknown)
        }
        (ValueType::Map(value_type), Value::Object(map)) => {
            map.retain(|_, v| !v.is_null() || value_type.value.nullable);
            for (key, value) in map.iter_mut() {
                prune_value(&value_type.value, value, &join(path, key), unknown)?;
            }
            Ok(())
        }
        (ValueType::List(value_type), Value::Array(items)) => {
            for (i, item) in items.iter_mut().enumerate() {
                prune_value(&value_type.item, item, &format!("{path}[{i}]"), unknown)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.into()
    } else {
        format!("{path}.{key}")
    }
}

fn fields(
    value_type: &StructSchema,
    map: &mut Map<String, Value>,
    path: &str,
    root: bool,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    let whole = root || value_type.embedded;
    map.retain(|name, value| match value_type.field(name) {
        Some(field) if whole && META.contains(&name.as_str()) => !drops_null(field, value),
        Some(field) => !drops_null(field, value),
        None if value_type.preserve_unknown => true,
        None => {
            unknown.push(join(path, name));
            false
        }
    });
    for (name, value) in map.iter_mut() {
        let Some(field) = value_type.field(name) else {
            continue;
        };
        let here = join(path, name);
        match name.as_str() {
            "metadata" if root => {}
            "metadata" if whole => {
                let before = value.clone();
                coerce_metadata(value, &here, unknown).map_err(|error| {
                    let error = FieldError::invalid(&*here, before, error.to_string());
                    DecodeError::Embedded(error)
                })?;
            }
            "apiVersion" | "kind" if whole => {
                if !value.is_string() {
                    let bad = value.clone();
                    let error = FieldError::invalid(here, bad, "must be a string");
                    return Err(DecodeError::Embedded(error));
                }
            }
            _ => prune_value(&field.schema, value, &here, unknown)?,
        }
    }
    Ok(())
}

/// Whether a null value is dropped: the field is not nullable and has no default.
fn drops_null(field: &Field, value: &Value) -> bool {
    value.is_null() && !field.schema.nullable && field.default.is_none()
}
