//! Decoding of custom resources: unknown fields are pruned and named, nulls that mean nothing are
//! dropped, metadata is brought into form; defaults are filled by [`default`].

use serde_json::{Map, Value};

use super::decode::{Source, decode_at};
use super::{Field, Schema, Shape, StructShape};
use crate::field::FieldError;

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Decodes a custom resource in place. Returns the paths of unknown fields, sorted.
///
/// # Errors
/// Why its metadata, or that of an object in it, cannot be read.
pub(super) fn decode(schema: &Schema, value: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    if let Some(metadata) = value.get_mut("metadata") {
        metadata_in(metadata, "metadata", &mut unknown)?;
    }
    if let (Shape::Struct(shape), Value::Object(map)) = (&schema.shape, &mut *value) {
        fields(shape, map, "", true, &mut unknown)?;
    }
    unknown.sort();
    Ok(unknown)
}

/// Prunes a value inside a custom resource. Returns the paths of unknown fields.
///
/// # Errors
/// Why the metadata of an object in it cannot be read.
pub fn pruned(schema: &Schema, value: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    prune(schema, value, "", &mut unknown)?;
    Ok(unknown)
}

/// Brings a metadata object into the form the server writes.
fn metadata_in(metadata: &mut Value, path: &str, unknown: &mut Vec<String>) -> Result<(), String> {
    let Some(schema) = super::named("meta.v1.ObjectMeta") else {
        return Ok(());
    };
    unknown.extend(decode_at(&schema, metadata, Source::Json, path)?);
    Ok(())
}

fn prune(
    schema: &Schema,
    value: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    match (&schema.shape, value) {
        (Shape::Struct(shape), Value::Object(map)) => fields(shape, map, path, false, unknown),
        (Shape::Map(shape), Value::Object(map)) => {
            map.retain(|_, v| !v.is_null() || shape.value.nullable);
            for (key, value) in map.iter_mut() {
                prune(&shape.value, value, &join(path, key), unknown)?;
            }
            Ok(())
        }
        (Shape::List(shape), Value::Array(items)) => {
            for (i, item) in items.iter_mut().enumerate() {
                prune(&shape.item, item, &format!("{path}[{i}]"), unknown)?;
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
    shape: &StructShape,
    map: &mut Map<String, Value>,
    path: &str,
    root: bool,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let whole = root || shape.embedded;
    map.retain(|name, value| match shape.field(name) {
        Some(field) if whole && META.contains(&name.as_str()) => !drops_null(field, value),
        Some(field) => !drops_null(field, value),
        None if shape.preserve_unknown => true,
        None => {
            unknown.push(join(path, name));
            false
        }
    });
    for (name, value) in map.iter_mut() {
        let Some(field) = shape.field(name) else {
            continue;
        };
        let here = join(path, name);
        match name.as_str() {
            "metadata" if root => {}
            "metadata" if whole => {
                let before = value.clone();
                metadata_in(value, &here, unknown)
                    .map_err(|why| FieldError::invalid(&*here, before, why).to_string())?;
            }
            "apiVersion" | "kind" if whole => {
                if !value.is_string() {
                    let bad = value.clone();
                    return Err(FieldError::invalid(here, bad, "must be a string").to_string());
                }
            }
            _ => prune(&field.schema, value, &here, unknown)?,
        }
    }
    Ok(())
}

/// Whether an explicit null in the field means nothing and nothing stands in for it.
fn drops_null(field: &Field, value: &Value) -> bool {
    value.is_null() && !field.schema.nullable && field.default.is_none()
}

/// Fills in the defaults of a custom resource's schema.
pub fn default(schema: &Schema, value: &mut Value) {
    match (&schema.shape, value) {
        (Shape::Struct(shape), Value::Object(map)) => {
            for field in shape.fields.iter() {
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
                if let Some(field) = shape.field(name).filter(|f| f.schema.name.is_empty()) {
                    default(&field.schema, value);
                }
            }
        }
        (Shape::Map(shape), Value::Object(map)) => {
            map.values_mut()
                .for_each(|value| default(&shape.value, value));
        }
        (Shape::List(shape), Value::Array(items)) => {
            items.iter_mut().for_each(|item| default(&shape.item, item));
        }
        _ => {}
    }
}
