//! Whether a schema is structural: types are stated outside of `allOf` and the like, which only
//! validate, and validate only what is stated.

use serde_json::{Value, json};

use super::super::validate::compiled;
use super::keys::{list, named, one, says, text};
use super::pattern;
use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// What keeps the schema from being read as a structural one at all.
pub(super) fn unreadable(schema: &Value) -> Option<String> {
    for field in [
        "id",
        "$schema",
        "$ref",
        "patternProperties",
        "dependencies",
        "additionalItems",
        "definitions",
    ] {
        let there = match field {
            "additionalItems" => schema.get(field).is_some_and(|v| !v.is_null()),
            "patternProperties" | "dependencies" | "definitions" => {
                named(schema, field).next().is_some()
            }
            _ => says(schema, field),
        };
        if there {
            let name = field
                .strip_prefix('$')
                .filter(|n| *n == "schema")
                .unwrap_or(field);
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    let combined = one(schema, "not").into_iter().chain(
        ["allOf", "anyOf", "oneOf"]
            .iter()
            .flat_map(|f| list(schema, f)),
    );
    if let Some(why) = combined.into_iter().find_map(unreadable) {
        return Some(why);
    }
    if schema.get(PRESERVE) == Some(&Value::Bool(false)) {
        return Some(format!(
            "internal error: '{PRESERVE}' must be true or undefined"
        ));
    }
    if !list(schema, "items").is_empty() {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".into());
    }
    let below = one(schema, "items")
        .into_iter()
        .chain(named(schema, "properties").map(|(_, s)| s))
        .chain(one(schema, "additionalProperties"));
    below.into_iter().find_map(unreadable)
}

/// What is wrong with the structure, sorted.
pub(super) fn faults(schema: &Value, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Errors::default();
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

fn invariants(schema: &Value, level: Level, path: &Path<'_>, errors: &mut Errors) {
    let (kind, at) = (text(schema, "type"), |field| path.child(field));
    match one(schema, "items") {
        Some(items) => invariants(items, Level::Item, &at("items"), errors),
        None if kind == "array" => errors.required(&at("items"), "must be specified"),
        None => {}
    }
    let properties = at("properties");
    for (name, field) in named(schema, "properties") {
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
    whole(schema, level, path, errors);
    if says(schema, EMBEDDED) && values.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(&at("additionalProperties"), detail);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.invalid(&at("type"), kind, "must be object at the root");
    }
    metadata(schema, level, &properties, errors);
    let empty = named(schema, "properties").next().is_none();
    if says(schema, EMBEDDED) && !says(schema, PRESERVE) && empty {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.required(&properties, detail);
    }
}

fn extensions(schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in [PRESERVE, EMBEDDED] {
        if says(schema, INT_OR_STRING) && says(schema, field) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.invalid(&path.child(field), true, detail);
        }
    }
}

/// Whether the type is stated, and fits what the schema stands for.
fn whole(schema: &Value, level: Level, path: &Path<'_>, errors: &mut Errors) {
    let (kind, path) = (text(schema, "type"), path.child("type"));
    if says(schema, EMBEDDED) && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        match kind {
            "" => errors.required(&path, detail),
            kind => errors.invalid(&path, kind, detail),
        }
    } else if kind.is_empty() && !says(schema, INT_OR_STRING) && !says(schema, PRESERVE) {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.required(&path, detail);
    }
}

/// What a schema says of the fields every object has.
fn metadata(schema: &Value, level: Level, properties: &Path<'_>, errors: &mut Errors) {
    let checked = level == Level::Root || says(schema, EMBEDDED);
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
            let mut names = named(metadata, "properties").map(|(name, _)| name.as_str());
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

/// `anyOf: [{type: integer}, {type: string}]`, the one place where types may stand there.
fn is_int_or_string(any_of: &[Value]) -> bool {
    !any_of.is_empty() && *any_of == [json!({"type": "integer"}), json!({"type": "string"})]
}

/// What validates values: `anyOf` and the like, and the pattern. `exempt` is the schema whose own
/// `anyOf`, or that in its first `allOf`, may name integer and string.
fn combined(schema: &Value, exempt: &Value, path: &Path<'_>, errors: &mut Errors) {
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
    if let Some(not) = one(schema, "not") {
        nested(not, false, &path.child("not"), errors);
    }
    let regex = text(schema, "pattern");
    if !regex.is_empty()
        && let Err(why) = compiled(regex)
    {
        errors.invalid(
            &path.child("pattern"),
            regex,
            pattern::complaint(regex, &why),
        );
    }
}

fn each(schemas: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (i, schema) in schemas.iter().enumerate() {
        nested(schema, false, &path.index(i), errors);
    }
}

/// A schema that may only validate.
fn nested(schema: &Value, int_or_string: bool, path: &Path<'_>, errors: &mut Errors) {
    static NOTHING: Value = Value::Null;
    if int_or_string {
        // its `anyOf` is the exception; all else in it is not
        let mut rest = schema.clone();
        if let Some(fields) = rest.as_object_mut() {
            fields.remove("anyOf");
        }
        return nested(&rest, false, path, errors);
    }
    combined(schema, &NOTHING, path, errors);
    if let Some(items) = one(schema, "items") {
        nested(items, false, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, field) in named(schema, "properties") {
        nested(field, false, &properties.key(name), errors);
    }
    let forbid = |field: &str, detail: &str, errors: &mut Errors| {
        if schema.get(field).is_some_and(|v| !v.is_null()) && says(schema, field) {
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

/// Whether all that `validating` validates is stated by `stated`.
fn completeness(
    validating: &Value,
    stated: Option<&Value>,
    stated_path: &Path<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    if let Some(not) = one(validating, "not") {
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
    stated_path: &Path<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let Some(schema) = stated else {
        return errors.required(stated_path, &format!("because it is defined in {path}"));
    };
    completeness(validating, stated, stated_path, path, errors);
    if let Some(items) = one(validating, "items") {
        let (stated, at) = (one(schema, "items"), stated_path.child("items"));
        nested_completeness(items, stated, &at, &path.child("items"), errors);
    }
    let (at, path) = (stated_path.child("properties"), path.child("properties"));
    for (name, field) in named(validating, "properties") {
        let stated = schema.get("properties").and_then(|p| p.get(name));
        nested_completeness(field, stated, &at.key(name), &path.key(name), errors);
    }
}
