//! Validation that a schema is structural: types are specified outside of `allOf`, `anyOf`, `oneOf`
//! and `not`, and these validate only fields that are specified outside of them.

use serde_json::{Value, json};

use super::super::custom_resource_validation::compile_regexp;
use super::go_regexp_error;
use super::schema_accessors::{is_set, list, schema_field, schema_map, text};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The error of converting an `openAPIV3Schema` to a structural schema, upstream's `NewStructural`.
pub(super) fn structural_conversion_error(schema: &Value) -> Option<String> {
    for field in [
        "id",
        "$schema",
        "$ref",
        "patternProperties",
        "dependencies",
        "additionalItems",
        "definitions",
    ] {
        let is_present = match field {
            "additionalItems" => schema.get(field).is_some_and(|v| !v.is_null()),
            "patternProperties" | "dependencies" | "definitions" => {
                schema_map(schema, field).next().is_some()
            }
            _ => is_set(schema, field),
        };
        if is_present {
            let name = field
                .strip_prefix('$')
                .filter(|n| *n == "schema")
                .unwrap_or(field);
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    let combined = schema_field(schema, "not").into_iter().chain(
        ["allOf", "anyOf", "oneOf"]
            .iter()
            .flat_map(|f| list(schema, f)),
    );
    if let Some(reason) = combined.into_iter().find_map(structural_conversion_error) {
        return Some(reason);
    }
    if schema.get(PRESERVE) == Some(&Value::Bool(false)) {
        return Some(format!(
            "internal error: '{PRESERVE}' must be true or undefined"
        ));
    }
    if !list(schema, "items").is_empty() {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".into());
    }
    let below = schema_field(schema, "items")
        .into_iter()
        .chain(schema_map(schema, "properties").map(|(_, s)| s))
        .chain(schema_field(schema, "additionalProperties"));
    below.into_iter().find_map(structural_conversion_error)
}

/// The violations of structural schema rules, sorted (upstream's `ValidateStructural`).
pub(super) fn validate_structural(schema: &Value, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    invariants(schema, Level::Root, path, &mut errors);
    completeness(schema, Some(schema), path, path, &mut errors);
    errors.0.sort_by_cached_key(ToString::to_string);
    errors.0
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

fn invariants(schema: &Value, level: Level, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let (kind, at) = (text(schema, "type"), |field| path.child(field));
    match schema_field(schema, "items") {
        Some(items) => invariants(items, Level::Item, &at("items"), errors),
        None if kind == "array" => errors.required(&at("items"), "must be specified"),
        None => {}
    }
    let properties = at("properties");
    for (name, field) in schema_map(schema, "properties") {
        invariants(field, Level::Field, &properties.key(name), errors);
    }
    let values = schema.get("additionalProperties").filter(|v| !v.is_null());
    if let Some(values) = values {
        let path = at("additionalProperties");
        if level == Level::Root {
            errors.forbidden(&path, "must not be used at the root");
        }
        if values.is_object() {
            invariants(values, Level::Field, &path, errors);
        }
    }
    extensions(schema, path, errors);
    combined(schema, schema, path, errors);
    validate_type(schema, level, path, errors);
    if is_set(schema, EMBEDDED) && values.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(&at("additionalProperties"), detail);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.invalid(&at("type"), kind, "must be object at the root");
    }
    metadata(schema, level, &properties, errors);
    let empty = schema_map(schema, "properties").next().is_none();
    if is_set(schema, EMBEDDED) && !is_set(schema, PRESERVE) && empty {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.required(&properties, detail);
    }
}

fn extensions(schema: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    for field in [PRESERVE, EMBEDDED] {
        if is_set(schema, INT_OR_STRING) && is_set(schema, field) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.invalid(&path.child(field), true, detail);
        }
    }
}

/// Validates that `type` is set and fits the level and the extensions of the schema.
fn validate_type(schema: &Value, level: Level, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let (kind, path) = (text(schema, "type"), path.child("type"));
    if is_set(schema, EMBEDDED) && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        match kind {
            "" => errors.required(&path, detail),
            kind => errors.invalid(&path, kind, detail),
        }
    } else if kind.is_empty() && !is_set(schema, INT_OR_STRING) && !is_set(schema, PRESERVE) {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.required(&path, detail);
    }
}

/// Validates the schemas of `apiVersion`, `kind` and `metadata`.
fn metadata(schema: &Value, level: Level, properties: &FieldPath<'_>, errors: &mut ErrorList) {
    let checked = level == Level::Root || is_set(schema, EMBEDDED);
    let field = |name: &str| schema.get("properties").and_then(|p| p.get(name));
    for name in ["kind", "apiVersion"] {
        if let Some(kind) = field(name).filter(|_| checked).map(|f| text(f, "type"))
            && kind != "string"
        {
            errors.invalid(&properties.key(name).child("type"), kind, "must be string");
        }
    }
    let Some(metadata) = field("metadata") else {
        return;
    };
    let path = properties.key("metadata");
    let kind = text(metadata, "type");
    if checked && kind != "object" {
        errors.invalid(&path.child("type"), kind, "must be object");
    }
    let allowed = |(name, value): (&String, &Value)| match name.as_str() {
        "type" | "default" => true,
        "properties" => {
            let mut names = schema_map(metadata, "properties").map(|(name, _)| name.as_str());
            names.all(|name| matches!(name, "name" | "generateName"))
        }
        _ => value.is_null(),
    };
    if level == Level::Root && !metadata.as_object().into_iter().flatten().all(allowed) {
        let detail = "must not specify anything other than name and generateName, but metadata is \
                      implicitly specified";
        errors.forbidden(&path, detail);
    }
}

/// Whether this is `anyOf: [{type: integer}, {type: string}]`, the only nested types allowed with
/// `x-kubernetes-int-or-string`.
fn is_int_or_string(any_of: &[Value]) -> bool {
    !any_of.is_empty() && *any_of == [json!({"type": "integer"}), json!({"type": "string"})]
}

/// Validates `allOf`, `anyOf`, `oneOf`, `not` and `pattern`. `exempt` is the schema whose own
/// `anyOf`, or that of its first `allOf`, may specify integer and string.
fn combined(schema: &Value, exempt: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let own = std::ptr::eq(schema, exempt);
    let any_of = list(schema, "anyOf");
    if !(own && is_int_or_string(any_of)) {
        each(any_of, &path.child("anyOf"), errors);
    }
    let all_of = path.child("allOf");
    for (i, below) in list(schema, "allOf").iter().enumerate() {
        let first = own && i == 0 && is_int_or_string(list(below, "anyOf"));
        nested(below, first, &all_of.index(i), errors);
    }
    each(list(schema, "oneOf"), &path.child("oneOf"), errors);
    if let Some(not) = schema_field(schema, "not") {
        nested(not, false, &path.child("not"), errors);
    }
    let regex = text(schema, "pattern");
    if !regex.is_empty()
        && let Err(error) = compile_regexp(regex)
    {
        errors.invalid(
            &path.child("pattern"),
            regex,
            go_regexp_error::go_regexp_error(regex, &error.to_string()),
        );
    }
}

fn each(schemas: &[Value], path: &FieldPath<'_>, errors: &mut ErrorList) {
    for (i, schema) in schemas.iter().enumerate() {
        nested(schema, false, &path.index(i), errors);
    }
}

/// Validates a nested value validation, which must not specify structure.
fn nested(schema: &Value, int_or_string: bool, path: &FieldPath<'_>, errors: &mut ErrorList) {
    static NOTHING: Value = Value::Null;
    if int_or_string {
        // Only its `anyOf` is exempt.
        let mut rest = schema.clone();
        if let Some(fields) = rest.as_object_mut() {
            fields.remove("anyOf");
        }
        return nested(&rest, false, path, errors);
    }
    combined(schema, &NOTHING, path, errors);
    if let Some(items) = schema_field(schema, "items") {
        nested(items, false, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, field) in schema_map(schema, "properties") {
        nested(field, false, &properties.key(name), errors);
    }
    let forbid = |field: &str, detail: &str, errors: &mut ErrorList| {
        if schema.get(field).is_some_and(|v| !v.is_null()) && is_set(schema, field) {
            errors.forbidden(
                &path.child(field),
                format!("must be {detail} to be structural"),
            );
        }
    };
    forbid("type", "empty", errors);
    forbid("additionalProperties", "undefined", errors);
    if schema.get("default").is_some_and(|d| !d.is_null()) {
        errors.forbidden(&path.child("default"), "must be undefined to be structural");
    }
    for (field, detail) in [
        ("title", "empty"),
        ("description", "empty"),
        ("nullable", "false"),
        (PRESERVE, "false"),
        (EMBEDDED, "false"),
        (INT_OR_STRING, "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-map-type", "undefined"),
        ("x-kubernetes-validations", "empty"),
    ] {
        forbid(field, detail, errors);
    }
    if schema
        .get("properties")
        .is_some_and(|p| p.get("metadata").is_some())
    {
        let detail = "must not be specified in a nested context";
        errors.forbidden(&properties.key("metadata"), detail);
    }
}

/// Validates that each field of a nested value validation is specified by the structural schema.
fn completeness(
    validating: &Value,
    stated: Option<&Value>,
    stated_path: &FieldPath<'_>,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    if let Some(not) = schema_field(validating, "not") {
        nested_completeness(not, stated, stated_path, &path.child("not"), errors);
    }
    for field in ["allOf", "anyOf", "oneOf"] {
        let path = path.child(field);
        for (i, below) in list(validating, field).iter().enumerate() {
            nested_completeness(below, stated, stated_path, &path.index(i), errors);
        }
    }
}

fn nested_completeness(
    validating: &Value,
    stated: Option<&Value>,
    stated_path: &FieldPath<'_>,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let Some(schema) = stated else {
        return errors.required(stated_path, &format!("because it is defined in {path}"));
    };
    completeness(validating, stated, stated_path, path, errors);
    if let Some(items) = schema_field(validating, "items") {
        let (stated, at) = (schema_field(schema, "items"), stated_path.child("items"));
        nested_completeness(items, stated, &at, &path.child("items"), errors);
    }
    let (at, path) = (stated_path.child("properties"), path.child("properties"));
    for (name, field) in schema_map(validating, "properties") {
        let stated = schema.get("properties").and_then(|p| p.get(name));
        nested_completeness(field, stated, &at.key(name), &path.key(name), errors);
    }
}
