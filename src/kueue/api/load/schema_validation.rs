//! Validates an object against the schema of its version, with an API server's messages. CEL rules
//! are left to the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;
use serde_json::{Map, Value};

use crate::crds::{Schema, SchemaType};
use crate::field::{FieldError, FieldErrors, Path, json_type_name};
use kueue_lab_yaml::closest;

/// A field that the schema does not have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownField {
    pub(super) path: String,
    /// The closest known field.
    pub(super) suggestion: Option<&'static str>,
}

/// The violations of a schema.
#[derive(Debug, Default)]
pub(super) struct SchemaViolations {
    pub(super) errors: FieldErrors,
    pub(super) unknown: Vec<UnknownField>,
}

/// Checks an object without its metadata.
pub(super) fn check(object: &Value, schema: Schema) -> SchemaViolations {
    let mut found = SchemaViolations::default();
    if let Value::Object(members) = object {
        for (name, member) in members.iter().filter(|(name, _)| *name != "metadata") {
            check_member(name, member, schema, &Path::default(), &mut found);
        }
        found.required(members, schema, &Path::default());
    }
    found
}

fn check_member(
    name: &str,
    member: &Value,
    owner: Schema,
    path: &Path,
    found: &mut SchemaViolations,
) {
    let path = path.child(name);
    match owner.property(name) {
        // A null is treated as absent.
        Some(_) if member.is_null() => {}
        Some(schema) => check_value(member, schema, &path, found),
        None => found.unknown.push(UnknownField {
            path: path.to_string(),
            suggestion: closest(name, owner.properties()),
        }),
    }
}

fn check_value(value: &Value, schema: Schema, path: &Path, found: &mut SchemaViolations) {
    let Some(kind) = schema.schema_type() else {
        return;
    };
    let fits = match kind {
        SchemaType::Object => value.is_object(),
        SchemaType::Array => value.is_array(),
        SchemaType::String => value.is_string(),
        SchemaType::Integer => value.is_i64() || value.is_u64(),
        SchemaType::Number => value.is_number(),
        SchemaType::Boolean => value.is_boolean(),
        SchemaType::IntOrString => value.is_string() || value.is_i64() || value.is_u64(),
    };
    if !fits {
        let (is, must) = (json_type_name(value), kind.name());
        let detail = format!("{path} in body must be of type {must}: \"{is}\"");
        found.errors.push(FieldError::invalid(path, is, detail));
        return;
    }
    if let Some(Value::Array(allowed)) = schema.keyword("enum")
        && !allowed.contains(value)
    {
        let names: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        found
            .errors
            .push(FieldError::not_supported(path, value, &names));
    }
    match value {
        Value::Object(members) => check_object(members, schema, path, found),
        Value::Array(items) => check_list(items, schema, path, found),
        Value::String(text) => check_string(text, schema, path, found),
        Value::Number(number) => {
            let (n, min) = (number.as_i64(), schema.limit("minimum"));
            if let (Some(n), Some(min)) = (n, min)
                && n < min
            {
                let detail = format!("{path} in body should be greater than or equal to {min}");
                found.errors.push(FieldError::invalid(path, &n, detail));
            }
            if schema.keyword("format").is_some_and(|f| f == "int32")
                && n.is_none_or(|n| i32::try_from(n).is_err())
            {
                let detail = format!("{path} in body must be of type int32");
                found.errors.push(FieldError::invalid(path, value, detail));
            }
        }
        _ => {}
    }
}

fn check_object(
    members: &Map<String, Value>,
    schema: Schema,
    path: &Path,
    found: &mut SchemaViolations,
) {
    let max = schema
        .limit("maxProperties")
        .and_then(|m| usize::try_from(m).ok());
    if let Some(max) = max.filter(|max| members.len() > *max) {
        found
            .errors
            .push(FieldError::too_many(path, members.len(), max));
    }
    if let Some(values) = schema.additional_properties() {
        for (key, value) in members {
            check_value(value, values, &path.child(key), found);
        }
        return;
    }
    if schema.keyword("properties").is_none() {
        return;
    }
    for (name, member) in members {
        check_member(name, member, schema, path, found);
    }
    found.required(members, schema, path);
}

fn check_list(items: &[Value], schema: Schema, path: &Path, found: &mut SchemaViolations) {
    let limit = |keyword| schema.limit(keyword).and_then(|l| usize::try_from(l).ok());
    if let Some(max) = limit("maxItems").filter(|max| items.len() > *max) {
        found
            .errors
            .push(FieldError::too_many(path, items.len(), max));
    }
    if let Some(min) = limit("minItems").filter(|min| items.len() < *min) {
        let detail = format!("{path} in body should have at least {min} items");
        found
            .errors
            .push(FieldError::invalid(path, &items.len(), detail));
    }
    if let Some(schema) = schema.items() {
        for (i, item) in items.iter().enumerate() {
            check_value(item, schema, &path.index(i), found);
        }
    }
    let mut seen = BTreeSet::new();
    for (i, item) in items.iter().enumerate() {
        let key = match schema
            .keyword("x-kubernetes-list-type")
            .and_then(Value::as_str)
        {
            Some("set") => item.clone(),
            Some("map") => list_map_key(item, schema),
            _ => return,
        };
        if !seen.insert(key.to_string()) {
            found
                .errors
                .push(FieldError::duplicate(&path.index(i), &key));
        }
    }
}

/// The map keys of a list item, with defaults.
fn list_map_key(item: &Value, schema: Schema) -> Value {
    let names = schema
        .keyword("x-kubernetes-list-map-keys")
        .and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names
        .filter_map(|name| {
            let default = || schema.items()?.property(name)?.keyword("default");
            let value = item.get(name).or_else(default)?;
            Some((name.to_owned(), value.clone()))
        })
        .collect::<Map<_, _>>()
        .into()
}

fn check_string(text: &str, schema: Schema, path: &Path, found: &mut SchemaViolations) {
    let limit = |keyword| schema.limit(keyword).and_then(|l| usize::try_from(l).ok());
    let length = text.chars().count();
    if let Some(max) = limit("maxLength").filter(|max| length > *max) {
        found.errors.push(FieldError::too_long(path, max));
    }
    if let Some(min) = limit("minLength").filter(|min| length < *min) {
        let detail = format!("{path} in body should be at least {min} chars long");
        found.errors.push(FieldError::invalid(path, text, detail));
    }
    if let Some(pattern) = schema.keyword("pattern").and_then(Value::as_str)
        && !matches(pattern, text)
    {
        let detail = format!("{path} in body should match '{pattern}'");
        found.errors.push(FieldError::invalid(path, text, detail));
    }
}

/// Whether a text matches a pattern of a schema. Compiled patterns are cached.
fn matches(pattern: &'static str, text: &str) -> bool {
    static COMPILED: LazyLock<Mutex<BTreeMap<&str, Option<Regex>>>> = LazyLock::new(Mutex::default);
    let regex = {
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        compiled
            .entry(pattern)
            .or_insert_with(|| Regex::new(pattern).ok())
            .clone()
    };
    regex.is_none_or(|r| r.is_match(text))
}

impl SchemaViolations {
    /// Reports missing required members without a default.
    fn required(&mut self, members: &Map<String, Value>, schema: Schema, path: &Path) {
        for name in schema.required() {
            let there = members.get(name).is_some_and(|m| !m.is_null());
            let defaulted = schema
                .property(name)
                .is_some_and(|s| s.keyword("default").is_some());
            if !there && !defaulted {
                self.errors
                    .push(FieldError::required(&path.child(name), ""));
            }
        }
    }
}
