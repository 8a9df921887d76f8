//! A property of a definition: type, default, enum and Kubernetes extensions.

use serde_json::{Map, Value, json};

use super::descriptions;
use super::openapi_v3::REF;
use kueue_lab_apimachinery::schema::{Field, ListType, Presence, Schema, TypeRef, ValueType};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The property of a field; `raw` is its k8s-openapi schema.
pub(super) fn property(field: &Field, raw: &Value) -> Value {
    let mut out = typed(&field.schema, raw);
    let default = match &field.default {
        Some(default) => Some(default.clone()),
        None if field.pointer => None,
        None => enforced_default(&field.schema, field.presence == Presence::Always),
    };
    if let Some(default) = default {
        out.insert("default".into(), default);
    }
    let mut description = raw
        .get("description")
        .and_then(Value::as_str)
        .map(String::from);
    if let ValueType::String { enumeration } = &field.schema.value_type
        && !enumeration.is_empty()
        && let Ok(Value::Array(values)) = serde_json::from_str(enumeration)
    {
        describe_values(&mut description, &field.schema, &values);
        out.insert("enum".into(), values.into());
    }
    if let Some(description) = description {
        out.insert("description".into(), description.into());
    }
    extensions(&mut out, field);
    wrapped(out)
}

/// Appends the enum values to the description, as kube-openapi does.
fn describe_values(description: &mut Option<String>, schema: &TypeRef, values: &[Value]) {
    let name = match schema {
        TypeRef::Builtin(entry) => entry.table_name(),
        TypeRef::Inlined(_) => String::new(),
    };
    let text = description.get_or_insert_default();
    text.push_str("\n\nPossible enum values:");
    for value in values.iter().filter_map(Value::as_str) {
        text.push_str(&format!("\n - `\"{value}\"`"));
        if let Some(described) = descriptions::lookup(&name, value) {
            text.push_str(&format!(" {described}"));
        }
    }
}

/// Wraps a `$ref` that has sibling keywords in an `allOf`.
fn wrapped(mut out: Map<String, Value>) -> Value {
    if out.len() > 1
        && let Some(reference) = out.remove("$ref")
    {
        out.insert("allOf".into(), json!([{"$ref": reference}]));
    }
    Value::Object(out)
}

fn reference(name: &str) -> Map<String, Value> {
    Map::from_iter([("$ref".to_string(), Value::from(format!("{REF}{name}")))])
}

fn plain(kind: &str, format: &str) -> Map<String, Value> {
    let mut out = Map::from_iter([("type".to_string(), Value::from(kind))]);
    if !format.is_empty() {
        out.insert("format".into(), format.into());
    }
    out
}

/// Returns the type keywords without default or description.
fn typed(schema: &TypeRef, raw: &Value) -> Map<String, Value> {
    match &schema.value_type {
        ValueType::Any(_) => of_raw(raw),
        ValueType::Bool => plain("boolean", ""),
        ValueType::Int(name) => plain("integer", int_format(name)),
        ValueType::Float => plain("number", "double"),
        ValueType::String { .. } => plain("string", ""),
        ValueType::Bytes => plain("string", "byte"),
        ValueType::IntOrString => reference("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        ValueType::Quantity => reference("io.k8s.apimachinery.pkg.api.resource.Quantity"),
        ValueType::Time => reference(&format!("{META}.Time")),
        ValueType::MicroTime => reference(&format!("{META}.MicroTime")),
        ValueType::Struct(_) => match schema {
            TypeRef::Builtin(entry) => reference(&definition_of(&entry.table_name())),
            TypeRef::Inlined(_) => of_raw(raw),
        },
        ValueType::List(list) => {
            let mut out = plain("array", "");
            out.insert("items".into(), element(&list.item, raw.get("items")));
            if list.list_type_declared {
                let (name, keys) = match &list.list_type {
                    ListType::Atomic => ("atomic", None),
                    ListType::Set => ("set", None),
                    ListType::Map(keys) => ("map", Some(keys)),
                };
                out.insert("x-kubernetes-list-type".into(), name.into());
                if let Some(keys) = keys {
                    let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
                    out.insert("x-kubernetes-list-map-keys".into(), keys.into());
                }
            }
            out
        }
        ValueType::Map(map) => {
            let mut out = plain("object", "");
            let raw = raw.get("additionalProperties");
            out.insert("additionalProperties".into(), element(&map.value, raw));
            if let Some(atomic) = map.atomic {
                let kind = if atomic { "atomic" } else { "granular" };
                out.insert("x-kubernetes-map-type".into(), kind.into());
            }
            out
        }
    }
}

/// Returns the k8s-openapi schema without its description.
fn of_raw(raw: &Value) -> Map<String, Value> {
    let mut out = raw.as_object().cloned().unwrap_or_default();
    out.remove("description");
    out
}

/// Returns the schema of a list item or map value, with the default of a required field.
fn element(schema: &TypeRef, raw: Option<&Value>) -> Value {
    let empty = Value::Null;
    let mut out = typed(schema, raw.unwrap_or(&empty));
    if let Some(default) = enforced_default(schema, true) {
        out.insert("default".into(), default);
    }
    wrapped(out)
}

fn int_format(name: &str) -> &'static str {
    match name {
        "int64" | "uint64" => "int64",
        _ => "int32",
    }
}

/// Default of a field that is not a pointer in Go: its zero value.
fn enforced_default(schema: &Schema, always: bool) -> Option<Value> {
    match &schema.value_type {
        ValueType::Struct(_) => Some(json!({})),
        ValueType::Bool if always => Some(false.into()),
        ValueType::Int(_) | ValueType::Float if always => Some(0.into()),
        ValueType::String { .. } if always => Some("".into()),
        _ => None,
    }
}

fn extensions(out: &mut Map<String, Value>, field: &Field) {
    let mut strategies = Vec::new();
    if field.patch.merge {
        strategies.push("merge");
    }
    if field.patch.retain_keys {
        strategies.push("retainKeys");
    }
    if field.patch.replace {
        strategies.push("replace");
    }
    if !strategies.is_empty() {
        out.insert(
            "x-kubernetes-patch-strategy".into(),
            strategies.join(",").into(),
        );
    }
    if let Some(key) = field.patch.key {
        out.insert("x-kubernetes-patch-merge-key".into(), key.into());
    }
}

/// Definition name of a type in the schema tables.
fn definition_of(id: &str) -> String {
    match id.split_once('.') {
        Some(("meta", rest)) => format!("io.k8s.apimachinery.pkg.apis.meta.{rest}"),
        Some(("apiextensions", rest)) => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{rest}")
        }
        Some(("apiregistration", rest)) => {
            format!("io.k8s.kube-aggregator.pkg.apis.apiregistration.{rest}")
        }
        _ => format!("io.k8s.api.{id}"),
    }
}
