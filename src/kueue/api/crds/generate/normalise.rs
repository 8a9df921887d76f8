//! Converts schemars' output to structural schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::schema::QUANTITY;

/// Converts a schema and its children to the form of a CRD: no null types, no `oneOf`, only
/// explicit defaults, own definitions inlined, Kubernetes' definitions referenced by their short
/// name.
pub(super) fn schema(
    value: &mut Value,
    raw: &BTreeMap<String, Value>,
    is_own: &impl Fn(&str) -> bool,
) {
    let Value::Object(map) = value else { return };
    // schemars' defaults are Rust's empty values; the API's defaults are declared separately.
    for noise in ["$schema", "title", "default"] {
        map.remove(noise);
    }
    remove_null_type(map);
    let refers = map.remove("$ref");
    if let Some(Value::String(reference)) = &refers {
        let name = reference.trim_start_matches("#/$defs/");
        if let Some(known) = kubernetes_type_schema(name) {
            merge_missing(map, known);
        } else if is_own(name) {
            let mut own = raw[name].clone();
            schema(&mut own, raw, is_own);
            merge_missing(map, own);
        } else {
            map.insert("$ref".into(), json!(short_name(name)));
        }
    }
    // A resolved reference is in its final form already.
    if refers.is_none() {
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            properties.values_mut().for_each(|v| schema(v, raw, is_own));
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = map.get_mut(key) {
                schema(inner, raw, is_own);
            }
        }
    }
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = plain_text(text);
    }
    if let Some(default) = map.remove("x-default") {
        map.insert("default".into(), default);
    }
}

/// Kubernetes' types with a special form in CRDs.
fn kubernetes_type_schema(name: &str) -> Option<Value> {
    let int_or_string = json!([{ "type": "integer" }, { "type": "string" }]);
    Some(match name.rsplit('.').next()? {
        "Quantity" => json!({
            "anyOf": int_or_string, "pattern": QUANTITY, "x-kubernetes-int-or-string": true,
        }),
        "IntOrString" => json!({ "anyOf": int_or_string, "x-kubernetes-int-or-string": true }),
        "Time" => json!({ "type": "string", "format": "date-time" }),
        _ => return None,
    })
}

/// Adds the keywords of the other schema that this one does not have.
fn merge_missing(map: &mut Map<String, Value>, other: Value) {
    if let Value::Object(other) = other {
        for (key, value) in other {
            map.entry(key).or_insert(value);
        }
    }
}

/// Removes the null type of `Option<T>`.
fn remove_null_type(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(choices)) = map.get("enum") {
        let choices = choices.iter().filter(|c| !c.is_null()).cloned().collect();
        map.insert("enum".into(), Value::Array(choices));
    }
    let null = json!({ "type": "null" });
    if let Some(Value::Array(choices)) = map.get("anyOf")
        && choices.contains(&null)
    {
        let rest: Vec<Value> = choices.iter().filter(|c| **c != null).cloned().collect();
        map.remove("anyOf");
        for choice in rest {
            merge_missing(map, choice);
        }
    }
}

/// The last part of a definition's name; unique among those in use.
pub(super) fn short_name(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

/// A doc comment as text: links lose their brackets, lines of one paragraph are joined.
fn plain_text(text: &str) -> String {
    text.split("\n\n")
        .map(|paragraph| {
            paragraph
                .split('\n')
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect::<Vec<_>>()
        .join("\n\n")
        .replace("[`", "`")
        .replace("`]", "`")
}
