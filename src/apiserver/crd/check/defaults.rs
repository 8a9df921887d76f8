//! Whether the defaults in a schema fit it.

use serde_json::Value;

use super::super::{cel, embedded, structural, validate};
use super::keys::{named, one};
use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::schema::custom;

/// Checks every default in the schema of a root, which is structural.
pub(super) fn faults(schema: &Value, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    walk(schema, true, path, &mut errors);
    errors.0
}

fn walk(schema: &Value, root: bool, path: &Path<'_>, errors: &mut Errors) {
    if let Some(default) = schema.get("default").filter(|d| !d.is_null()) {
        one_default(schema, default, &path.child("default"), errors);
    }
    if let Some(items) = one(schema, "items") {
        walk(items, false, &path.child("items"), errors);
    }
    let whole = root || schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    let properties = path.child("properties");
    for (name, field) in named(schema, "properties") {
        // what every object has is not for the schema to say
        if !(whole && matches!(name.as_str(), "metadata" | "apiVersion" | "kind")) {
            walk(field, false, &properties.key(name), errors);
        }
    }
}

fn one_default(schema: &Value, default: &Value, path: &Path<'_>, errors: &mut Errors) {
    let compiled = structural::value(schema);
    let mut pruned = default.clone();
    if let Err(why) | Ok(Some(why)) = custom::pruned(&compiled, &mut pruned)
        .map(|unknown| (!unknown.is_empty()).then(|| "must not have unknown fields".to_string()))
    {
        errors.invalid(path, default.clone(), why);
    }
    let at = path.to_string();
    let found = embedded::faults(&compiled, default, &at);
    if !found.is_empty() {
        return errors.extend(found);
    }
    let found = validate::faults(&compiled, default, None, &at);
    if !found.is_empty() {
        return errors.extend(found);
    }
    let mut found = cel::faults(&compiled, default, Some(default), &at);
    if found.is_empty() {
        found = cel::faults(&compiled, default, None, &at);
    }
    errors.extend(found);
}
