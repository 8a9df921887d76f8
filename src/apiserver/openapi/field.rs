//! One field of a definition: its type, default, enumeration and the extensions of Kubernetes.

use serde_json::{Map, Value, json};

use super::REF;
use crate::schema::{Field, ListKind, Presence, Schema, Shape, TypeRef};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The property of a field; `raw` is what k8s-openapi says of it.
pub(super) fn property(field: &Field, raw: &Value) -> Value {
    let mut out = typed(&field.schema, raw);
    let default = match &field.default {
        Some(default) => Some(default.clone()),
        None if field.pointer => None,
        None => enforced(&field.schema, field.presence == Presence::Always),
    };
    if let Some(default) = default {
        out.insert("default".into(), default);
    }
    let mut description = raw
        .get("description")
        .and_then(Value::as_str)
        .map(String::from);
    if let Shape::String { enumeration } = &field.schema.shape
        && !enumeration.is_empty()
        && let Ok(Value::Array(values)) = serde_json::from_str(enumeration)
    {
        describe_values(&mut description, &values);
        out.insert("enum".into(), values.into());
    }
    if let Some(description) = description {
        out.insert("description".into(), description.into());
    }
    extensions(&mut out, field);
    wrapped(out)
}

/// Kubernetes repeats the values of an enumeration in its description.
fn describe_values(description: &mut Option<String>, values: &[Value]) {
    let list: Vec<String> = values
        .iter()
        .filter_map(Value::as_str)
        .map(|v| format!(" - `\"{v}\"`"))
        .collect();
    let text = description.get_or_insert_default();
    text.push_str(&format!("\n\nPossible enum values:\n{}", list.join("\n")));
}

/// A reference with anything beside it goes into an `allOf`.
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

/// The type alone.
fn typed(schema: &TypeRef, raw: &Value) -> Map<String, Value> {
    match &schema.shape {
        Shape::Any(_) => of_raw(raw),
        Shape::Bool => plain("boolean", ""),
        Shape::Int(name) => plain("integer", int_format(name)),
        Shape::Float => plain("number", "double"),
        Shape::String { .. } => plain("string", ""),
        Shape::Bytes => plain("string", "byte"),
        Shape::IntOrString => reference("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        Shape::Quantity => reference("io.k8s.apimachinery.pkg.api.resource.Quantity"),
        Shape::Time => reference(&format!("{META}.Time")),
        Shape::MicroTime => reference(&format!("{META}.MicroTime")),
        Shape::Struct(_) => match schema {
            TypeRef::Builtin(entry) => reference(&definition_of(&entry.id())),
            TypeRef::Ready(_) => of_raw(raw),
        },
        Shape::List(list) => {
            let mut out = plain("array", "");
            out.insert("items".into(), element(&list.item, raw.get("items")));
            if list.kind_declared {
                let (name, keys) = match &list.kind {
                    ListKind::Atomic => ("atomic", None),
                    ListKind::Set => ("set", None),
                    ListKind::Map(keys) => ("map", Some(keys)),
                };
                out.insert("x-kubernetes-list-type".into(), name.into());
                if let Some(keys) = keys {
                    let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
                    out.insert("x-kubernetes-list-map-keys".into(), keys.into());
                }
            }
            out
        }
        Shape::Map(map) => {
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

/// What k8s-openapi says, without the description.
fn of_raw(raw: &Value) -> Map<String, Value> {
    let mut out = raw.as_object().cloned().unwrap_or_default();
    out.remove("description");
    out
}

/// An item of a list or a value of a map: like a field that is always there.
fn element(schema: &TypeRef, raw: Option<&Value>) -> Value {
    let empty = Value::Null;
    let mut out = typed(schema, raw.unwrap_or(&empty));
    if let Some(default) = enforced(schema, true) {
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

/// The value Go gives a field that is no pointer.
fn enforced(schema: &Schema, always: bool) -> Option<Value> {
    match &schema.shape {
        Shape::Struct(_) => Some(json!({})),
        Shape::Bool if always => Some(false.into()),
        Shape::Int(_) | Shape::Float if always => Some(0.into()),
        Shape::String { .. } if always => Some("".into()),
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

/// The definition name of a type of the schema tables.
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
