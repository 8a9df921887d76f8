//! Validation of `openAPIV3Schema`, as `ValidateCustomResourceDefinitionOpenAPISchema`.

use std::collections::HashSet;

use serde_json::Value;

use super::schema_accessors::{self, is_set, list, schema_field, schema_map, text};
use super::{cost_estimate, is_structural, validate_defaults, validation_rules};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;

/// The fields allowed in the root schema if the status subresource is enabled, with Go's names.
const AT_ROOT: [(&str, &str); 22] = [
    ("Description", "description"),
    ("Type", "type"),
    ("Format", "format"),
    ("Title", "title"),
    ("Maximum", "maximum"),
    ("ExclusiveMaximum", "exclusiveMaximum"),
    ("Minimum", "minimum"),
    ("ExclusiveMinimum", "exclusiveMinimum"),
    ("MaxLength", "maxLength"),
    ("MinLength", "minLength"),
    ("Pattern", "pattern"),
    ("MaxItems", "maxItems"),
    ("MinItems", "minItems"),
    ("UniqueItems", "uniqueItems"),
    ("MultipleOf", "multipleOf"),
    ("Required", "required"),
    ("Items", "items"),
    ("Properties", "properties"),
    ("ExternalDocs", "externalDocs"),
    ("Example", "example"),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
    ),
    ("XValidations", "x-kubernetes-validations"),
];

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Validates the schema of one version.
pub(super) fn check(schema: &Value, status: bool, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let before = errors.0.len();
    if status {
        validate_root_fields(schema, path, errors);
    }
    if is_set(schema, "nullable") {
        errors.forbidden(
            &path.child("nullable"),
            "nullable cannot be true at the root",
        );
    }
    let unreadable = is_structural::structural_conversion_error(schema);
    let mut is_structural = false;
    if unreadable.is_none() {
        let mut found = is_structural::validate_structural(schema, path);
        if found.is_empty() {
            found = validate_defaults::validate(schema, path);
        }
        is_structural = found.is_empty();
        errors.extend(found);
    }
    let mut walk = SchemaValidator::default();
    let context = SchemaContext {
        root: true,
        rules: is_structural,
        ..SchemaContext::default()
    };
    walk.node(schema, path, &context);
    let has_errors = !walk.expressions.0.is_empty();
    errors.extend(walk.errors.0);
    errors.extend(walk.expressions.0);
    if is_structural && !has_errors {
        cost_estimate::validate(schema, path, errors);
    }
    if let Some(reason) = unreadable.filter(|_| errors.0.len() == before) {
        errors.invalid(path, "", reason);
    }
}

/// Validates the fields of the root schema.
fn validate_root_fields(schema: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let has_other_type = is_set(schema, "type") && text(schema, "type") != "object";
    if has_other_type {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the \
                      status subresource is enabled";
        return errors.invalid(&path.child("type"), text(schema, "type"), detail);
    }
    let is_given = |(field, value): &(&String, &Value)| match value {
        Value::Null => false,
        Value::Bool(_) | Value::String(_) => is_set(schema, field),
        _ => true,
    };
    let given = schema.as_object().into_iter().flatten().filter(is_given);
    let is_allowed = |field: &str| AT_ROOT.iter().any(|(_, allowed)| *allowed == field);
    if given.into_iter().any(|(field, _)| !is_allowed(field)) {
        let allowed: Vec<&str> = AT_ROOT.iter().map(|(name, _)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            allowed.join(" ")
        );
        errors.invalid(path, schema.clone(), detail);
    }
}

/// The reason that defaults are not allowed in a schema node.
#[derive(Clone, Copy)]
enum DisallowDefaultsReason<'a> {
    InMap,
    TopLevel(&'a str),
}

/// Context from the parents of a schema node.
#[derive(Clone, Copy, Default)]
struct SchemaContext<'a> {
    root: bool,
    in_meta: bool,
    no_defaults: Option<DisallowDefaultsReason<'a>>,
    /// The path of the closest parent whose items cannot be correlated with the old value.
    uncorrelated: Option<&'a FieldPath<'a>>,
    /// Whether CEL rules are validated.
    rules: bool,
}

#[derive(Default)]
struct SchemaValidator {
    errors: ErrorList,
    expressions: ErrorList,
}

impl SchemaValidator {
    fn node(&mut self, schema: &Value, path: &FieldPath<'_>, context: &SchemaContext<'_>) {
        let before = self.errors.0.len();
        self.standard(schema, path, context);
        if is_set(schema, "uniqueItems") {
            let detail =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.errors.forbidden(&path.child("uniqueItems"), detail);
        }
        self.below(schema, path, context);
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let path = path.child("x-kubernetes-preserve-unknown-fields");
            self.errors
                .invalid(&path, false, "must be true or undefined");
        }
        self.map(schema, path);
        self.list(schema, path);
        self.list_map(schema, path);
        validation_rules::validate_rule_fields(schema, path, &mut self.errors);
        if context.rules && self.errors.0.len() == before {
            let whole = context.root || is_set(schema, "x-kubernetes-embedded-resource");
            validation_rules::compile(
                schema,
                whole,
                context.uncorrelated,
                path,
                &mut self.expressions,
            );
        }
    }

    /// Validates OpenAPI fields that structural schemas do not support.
    fn standard(&mut self, schema: &Value, path: &FieldPath<'_>, context: &SchemaContext<'_>) {
        let errors = &mut self.errors;
        let kind = text(schema, "type");
        if !kind.is_empty() {
            errors.one_of(&path.child("type"), kind, &TYPES);
        }
        if let Some(reason) = context
            .no_defaults
            .filter(|_| schema.get("default").is_some_and(|d| !d.is_null()))
        {
            let detail = match reason {
                DisallowDefaultsReason::InMap => {
                    "must not be set inside additionalProperties applying to object metadata".into()
                }
                DisallowDefaultsReason::TopLevel(name) => {
                    format!("must not be set in top-level {name}")
                }
            };
            errors.forbidden(&path.child("default"), detail);
        }
        let there = |field: &str| schema.get(field).is_some_and(|v| !v.is_null());
        for (field, there) in [
            ("id", is_set(schema, "id")),
            ("additionalItems", there("additionalItems")),
            (
                "patternProperties",
                schema_map(schema, "patternProperties").next().is_some(),
            ),
            (
                "definitions",
                schema_map(schema, "definitions").next().is_some(),
            ),
            ("dependencies", there("dependencies")),
            ("$ref", there("$ref")),
        ] {
            if there {
                errors.forbidden(&path.child(field), format!("{field} is not supported"));
            }
        }
        if kind == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            errors.forbidden(&path.child("type"), detail);
        }
        if !list(schema, "items").is_empty() {
            let detail = "items must be a schema object and not an array";
            errors.forbidden(&path.child("items"), detail);
        }
        if context.in_meta && is_set(schema, "x-kubernetes-embedded-resource") {
            let detail = "must not be used inside of resource meta";
            errors.forbidden(&path.child("x-kubernetes-embedded-resource"), detail);
        }
    }

    fn below(&mut self, schema: &Value, path: &FieldPath<'_>, context: &SchemaContext<'_>) {
        let inner = SchemaContext {
            root: false,
            ..*context
        };
        self.values(schema, path, &inner);
        let properties = path.child("properties");
        let whole = context.root || is_set(schema, "x-kubernetes-embedded-resource");
        for (name, field) in schema_map(schema, "properties") {
            let mut below = inner;
            let map_type = text(schema, "x-kubernetes-map-type");
            if !matches!(map_type, "" | "granular" | "atomic") {
                below.uncorrelated = below.uncorrelated.or(Some(path));
            }
            if whole && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
                below.in_meta = true;
                if context.root {
                    below.no_defaults = Some(DisallowDefaultsReason::TopLevel(name));
                }
            }
            self.node(field, &properties.key(name), &below);
        }
        let apart = SchemaContext {
            rules: false,
            ..inner
        };
        if let Some(not) = schema_field(schema, "not") {
            self.node(not, &path.child("not"), &apart);
        }
        for field in ["allOf", "oneOf", "anyOf"] {
            let path = path.child(field);
            for (i, below) in list(schema, field).iter().enumerate() {
                self.node(below, &path.index(i), &apart);
            }
        }
        self.unsupported(schema, path, &apart);
        let mut below = inner;
        if text(schema, "x-kubernetes-list-type") != "map" {
            below.uncorrelated = below.uncorrelated.or(Some(path));
        }
        let items_path = path.child("items");
        if let Some(items) = schema_field(schema, "items") {
            self.node(items, &items_path, &below);
        }
        below.rules = false;
        for (i, items) in list(schema, "items").iter().enumerate() {
            self.node(items, &items_path.index(i), &below);
        }
    }

    /// Validates `additionalProperties`.
    fn values(&mut self, schema: &Value, path: &FieldPath<'_>, inner: &SchemaContext<'_>) {
        let Some(values) = schema.get("additionalProperties").filter(|v| !v.is_null()) else {
            return;
        };
        let path = path.child("additionalProperties");
        if schema_map(schema, "properties").next().is_some() && *values != Value::Bool(true) {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.errors.forbidden(&path, detail);
        }
        if !values.is_object() {
            return;
        }
        let mut below = *inner;
        if inner.in_meta {
            below.no_defaults = Some(DisallowDefaultsReason::InMap);
        }
        self.node(values, &path, &below);
    }

    /// Rejects nested schemas in unsupported fields.
    fn unsupported(&mut self, schema: &Value, path: &FieldPath<'_>, context: &SchemaContext<'_>) {
        for field in ["definitions", "dependencies"] {
            let path = path.child(field);
            for (name, below) in schema_map(schema, field).filter(|(_, s)| s.is_object()) {
                self.node(below, &path.key(name), context);
            }
        }
    }

    fn map(&mut self, schema: &Value, path: &FieldPath<'_>) {
        let declared = text(schema, "x-kubernetes-map-type");
        if declared.is_empty() {
            return;
        }
        needs_type(
            schema,
            "object",
            "x-kubernetes-map-type",
            path,
            &mut self.errors,
        );
        let path = path.child("x-kubernetes-map-type");
        self.errors.one_of(&path, declared, &["atomic", "granular"]);
    }

    fn list(&mut self, schema: &Value, path: &FieldPath<'_>) {
        const FIELD: &str = "x-kubernetes-list-type";
        let declared = text(schema, FIELD);
        let items_path = path.child("items");
        if declared.is_empty() {
            if is_set(schema, "x-kubernetes-list-map-keys") {
                let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
                self.errors.required(&path.child(FIELD), detail);
            }
            return;
        }
        if needs_type(schema, "array", FIELD, path, &mut self.errors)
            && declared == "set"
            && let Some(items) = schema_field(schema, "items")
        {
            let own = items.get(FIELD).cloned().unwrap_or_default();
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            match text(items, "type") {
                "array" if !matches!(text(items, FIELD), "" | "atomic") => {
                    self.errors.invalid(&items_path.child(FIELD), own, detail);
                }
                "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
                    let path = items_path.child("x-kubernetes-map-type");
                    self.errors.invalid(&path, own, detail);
                }
                _ => {}
            }
        }
        self.errors
            .one_of(&path.child(FIELD), declared, &["atomic", "set", "map"]);
        if declared != "map" && is_set(schema, "x-kubernetes-list-map-keys") {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            self.errors.invalid(&path.child(FIELD), declared, detail);
        }
    }

    fn list_map(&mut self, schema: &Value, path: &FieldPath<'_>) {
        const FIELD: &str = "x-kubernetes-list-map-keys";
        let declared = text(schema, "x-kubernetes-list-type");
        let keys = list(schema, FIELD);
        let (items_path, errors) = (path.child("items"), &mut self.errors);
        let properties = items_path.child("properties");
        let items = schema_field(schema, "items");
        if declared == "map" {
            if keys.is_empty() {
                let detail = "must not be empty if x-kubernetes-list-type is map";
                errors.required(&path.child(FIELD), detail);
            }
            match (items, schema.get("items")) {
                (Some(items), _) if text(items, "type") != "object" => {
                    let detail = "must be object if parent array's x-kubernetes-list-type is map";
                    errors.invalid(&items_path.child("type"), text(items, "type"), detail);
                }
                (Some(items), _) => list_keys(schema, items, keys, path, errors),
                (None, Some(other)) if !other.is_null() => {
                    let detail = "must only have a single schema if x-kubernetes-list-type is map";
                    errors.invalid(&items_path, other.clone(), detail);
                }
                (None, _) => {
                    let detail = "must have a schema if x-kubernetes-list-type is map";
                    errors.required(&items_path, detail);
                }
            }
        }
        let Some(items) = items.filter(|_| matches!(declared, "map" | "set")) else {
            return;
        };
        if is_set(items, "nullable") {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {declared}");
            errors.forbidden(&items_path.child("nullable"), detail);
        }
        let required: HashSet<&Value> = list(items, "required").iter().collect();
        for key in keys.iter().filter(|_| declared == "map") {
            let name = key.as_str().unwrap_or_default();
            let Some(field) = items.get("properties").and_then(|p| p.get(name)) else {
                continue;
            };
            let path = properties.key(name);
            let defaulted = field.get("default").is_some_and(|d| !d.is_null());
            if !required.contains(key) && !defaulted {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a \
                              default or be a required property";
                errors.required(&path.child("default"), detail);
            }
            if is_set(field, "nullable") {
                let detail =
                    "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                errors.forbidden(&path.child("nullable"), detail);
            }
        }
    }
}

/// The errors of `x-kubernetes-list-map-keys` that are reported. Each of them contains all keys.
const MAX_KEY_ERRORS: usize = 64;

/// Validates `x-kubernetes-list-map-keys`.
fn list_keys(
    schema: &Value,
    items: &Value,
    keys: &[Value],
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let here = path.child("x-kubernetes-list-map-keys");
    let shown = || {
        schema
            .get("x-kubernetes-list-map-keys")
            .cloned()
            .unwrap_or_default()
    };
    let items_path = path.child("items");
    let properties = items_path.child("properties");
    let mut seen = HashSet::new();
    let most = errors.0.len() + MAX_KEY_ERRORS;
    for key in keys {
        if errors.0.len() >= most {
            break;
        }
        let name = key.as_str().unwrap_or_default();
        match items.get("properties").and_then(|p| p.get(name)) {
            None => errors.invalid(
                &here,
                shown(),
                "entries must all be names of item properties",
            ),
            Some(field) if matches!(schema_accessors::text(field, "type"), "array" | "object") => {
                // Upstream prints the type of the item, not of the key.
                let detail =
                    "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.invalid(&properties.key(name).child("type"), "object", detail);
            }
            Some(_) => {}
        }
        if !seen.insert(key) {
            errors.invalid(&here, shown(), "must not contain duplicate entries");
        }
    }
}

/// Validates that the schema has the type an extension requires.
fn needs_type(
    schema: &Value,
    kind: &str,
    extension: &str,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) -> bool {
    let (given, path) = (text(schema, "type"), path.child("type"));
    let detail = format!("must be {kind} if {extension} is specified");
    match given {
        "" => errors.required(&path, &detail),
        given if given != kind => errors.invalid(&path, given, detail),
        _ => return true,
    }
    false
}
