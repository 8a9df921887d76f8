//! Validation of defaults against their schema.

use serde_json::Value;

use super::super::{cel, compile_schema, custom_resource_validation, embedded_resource};
use super::schema_accessors::{schema_field, schema_map};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::schema::prune;
use kueue_lab_field::FieldError;

/// Validates all defaults of a structural root schema.
pub(super) fn validate(schema: &Value, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    walk(schema, true, path, &mut errors);
    errors.0
}

fn walk(schema: &Value, root: bool, path: &FieldPath<'_>, errors: &mut ErrorList) {
    if let Some(default) = schema.get("default").filter(|d| !d.is_null()) {
        one_default(schema, default, &path.child("default"), errors);
    }
    if let Some(items) = schema_field(schema, "items") {
        walk(items, false, &path.child("items"), errors);
    }
    let whole = root || schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    let properties = path.child("properties");
    for (name, field) in schema_map(schema, "properties") {
        // The type and object metadata are not defaulted by the schema.
        if !(whole && matches!(name.as_str(), "metadata" | "apiVersion" | "kind")) {
            walk(field, false, &properties.key(name), errors);
        }
    }
}

fn one_default(schema: &Value, default: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let compiled = compile_schema::compile_value(schema);
    let mut pruned = default.clone();
    match prune::prune(&compiled, &mut pruned) {
        Ok(unknown) if unknown.is_empty() => {}
        Ok(_) => errors.invalid(path, default.clone(), "must not have unknown fields"),
        Err(error) => errors.invalid(path, default.clone(), error.to_string()),
    }
    let at = path.to_string();
    let found = embedded_resource::validate(&compiled, default, &at);
    if !found.is_empty() {
        return errors.extend(found);
    }
    let found = custom_resource_validation::validate(&compiled, default, None, &at);
    if !found.is_empty() {
        return errors.extend(found);
    }
    let mut found = cel::validate(&compiled, default, Some(default), &at);
    if found.is_empty() {
        found = cel::validate(&compiled, default, None, &at);
    }
    errors.extend(found);
}
