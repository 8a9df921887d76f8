//! The notation of `schemas.txt`. A line is `NAME[!][SHAPE] [TYPE] [OPTION...]`; fields of an object
//! are indented by two spaces below it.
//!
//! * `!`: the field is required.
//! * `SHAPE`: `[]` list, `[key]` list with a map key, `{}` map.
//! * `TYPE`: `string`, `bool`, `integer`, `int32`, `int64`, `number`, `time`, `quantity`,
//!   `int-or-string`, `any` (an object with any fields), `embedded` (any Kubernetes object), or
//!   `@NAME`, the fields of a block; none for an object with the fields below.
//! * `OPTION`: `=VALUE` default, `enum=A,B`, `min=N`, `max=N` (of a list: of its items), `nullable`,
//!   `immutable`, or `open` for an object, or the objects of a list, with fields other than those
//!   below.
//! * `+@NAME`: the fields of a block are part of this object.

use serde_json::{Map, Value, json};

const TEXT: &str = include_str!("schemas.txt");

/// Nesting depth at which blocks are no longer expanded.
const MAX_DEPTH: usize = 24;

/// One line of the notation.
struct Line<'a> {
    indent: usize,
    text: &'a str,
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    TEXT.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| Line {
            indent: line.len() - line.trim_start().len(),
            text: line.trim(),
        })
}

/// The `openAPIV3Schema` of a CustomResourceDefinition; `None` if it has none here.
pub(super) fn schema(name: &str) -> Option<Value> {
    let mut schema = block(name, 0)?;
    let properties = schema.get_mut("properties")?.as_object_mut()?;
    for field in ["apiVersion", "kind"] {
        properties.insert(field.into(), json!({"type": "string"}));
    }
    properties.insert("metadata".into(), json!({"type": "object"}));
    Some(schema)
}

/// The object schema of the block with that header.
fn block(header: &str, depth: usize) -> Option<Value> {
    let body: Vec<Line<'_>> = lines()
        .skip_while(|line| line.indent > 0 || line.text != header)
        .skip(1)
        .take_while(|line| line.indent > 0)
        .collect();
    (!body.is_empty() && depth < MAX_DEPTH).then(|| object(&body, depth))
}

/// An object with the fields of these lines.
fn object(lines: &[Line<'_>], depth: usize) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first() {
        let nested = after.iter().take_while(|l| l.indent > line.indent).count();
        let (children, later) = after.split_at(nested);
        rest = later;
        if let Some(name) = line.text.strip_prefix('+') {
            let mut included = block(name, depth + 1).unwrap_or_default();
            if let Some(Value::Object(fields)) = included.get_mut("properties").map(Value::take) {
                properties.extend(fields);
            }
            continue;
        }
        let (name, is_required, schema) = field(line.text, children, depth);
        if is_required {
            required.push(name.to_owned());
        }
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Name, whether it is required, and schema of one field.
fn field<'a>(text: &'a str, children: &[Line<'_>], depth: usize) -> (&'a str, bool, Value) {
    let mut words = text.split(' ');
    let head = words.next().unwrap_or_default();
    let end = head.find(['!', '[', '{']).unwrap_or(head.len());
    let (name, shape) = head.split_at(end);
    let options: Vec<&str> = words.collect();
    let type_name = options.first().copied().filter(|word| is_type(word));
    let mut schema = match type_name.and_then(|name| name.strip_prefix('@')) {
        Some(_) => block(type_name.unwrap_or_default(), depth + 1).unwrap_or_default(),
        None if children.is_empty() => scalar(type_name.unwrap_or("any")),
        None => object(children, depth + 1),
    };
    let of_value = &options[usize::from(type_name.is_some())..];
    let (open, of_value): (Vec<&str>, Vec<&str>) =
        of_value.iter().partition(|option| **option == "open");
    if !open.is_empty() {
        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    let shape_of = shape.trim_start_matches('!');
    match shape_of.strip_prefix('[').and_then(|s| s.strip_suffix(']')) {
        Some("") => schema = json!({"type": "array", "items": schema}),
        Some(key) => {
            schema = json!({
                "type": "array", "items": schema,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key],
            });
        }
        None if shape_of == "{}" => {
            schema = json!({"type": "object", "additionalProperties": schema});
        }
        None => {}
    }
    for option in of_value {
        apply_option(&mut schema, type_name, option);
    }
    (name, shape.starts_with('!'), schema)
}

fn is_type(word: &str) -> bool {
    !word.contains('=') && !["nullable", "immutable", "open"].contains(&word)
}

fn scalar(name: &str) -> Value {
    match name {
        "bool" => json!({"type": "boolean"}),
        "int32" | "int64" => json!({"type": "integer", "format": name}),
        "time" => json!({"type": "string", "format": "date-time"}),
        "quantity" | "int-or-string" => json!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        }),
        "any" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        "embedded" => json!({
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
        }),
        other => json!({"type": other}),
    }
}

fn apply_option(schema: &mut Value, type_name: Option<&str>, option: &str) {
    let value = |text: &str| match type_name {
        Some("string") => json!(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    };
    match option.split_once('=') {
        None if option == "nullable" => schema["nullable"] = json!(true),
        None => {
            schema["x-kubernetes-validations"] =
                json!([{"rule": "self == oldSelf", "message": "field is immutable"}]);
        }
        Some(("", text)) => schema["default"] = value(text),
        Some(("enum", texts)) => {
            schema["enum"] = texts.split(',').map(value).collect();
        }
        Some(("min", text)) => schema["minimum"] = value(text),
        Some((_, text)) => {
            let is_list = schema["type"] == "array";
            let field = if is_list { "maxItems" } else { "maximum" };
            schema[field] = value(text);
        }
    }
}
