//! Type validation of applied configurations, structured-merge-diff's `typed.AsTyped`.

use std::collections::HashSet;

use serde_json::Value;

use crate::schema::go_format::{go_float, go_text, go_type};
use crate::schema::{AnyType, ListType, Schema, ValueType};

use super::atom::Fields;
use super::path_element;

/// The errors as `path: message`; validation of an object stops at its first unknown field.
pub(super) fn validate_object(schema: &Schema, value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    check(schema, value, "", &mut out);
    out
}

/// Formats the errors as one message.
pub(super) fn text(errors: &[String]) -> String {
    match errors {
        [one] => one.clone(),
        many => {
            let lines: Vec<String> = many.iter().map(|f| format!("\n  {f}")).collect();
            format!("errors:{}", lines.concat())
        }
    }
}

fn check(schema: &Schema, value: &Value, path: &str, out: &mut Vec<String>) {
    let mut error = |text: String| out.push(at(path, &text));
    match (&schema.value_type, value) {
        (_, Value::Null) | (ValueType::Any(AnyType::Atomic), _) => {}
        (ValueType::Any(_), Value::Object(_)) => fields(Fields::Any, value, path, out),
        (ValueType::Any(_), Value::Array(_)) => {}
        (ValueType::Struct(s), Value::Object(_)) => fields(Fields::Struct(s), value, path, out),
        (ValueType::Map(m), Value::Object(_)) => fields(Fields::Map(m), value, path, out),
        (ValueType::Struct(_) | ValueType::Map(_), v) => {
            error(format!("expected map, got &{{{}}}", go_text(v)));
        }
        (ValueType::List(list), Value::Array(items)) => {
            let mut seen = HashSet::new();
            for (i, item) in items.iter().enumerate() {
                let key = if list.list_type == ListType::Atomic {
                    format!("i:{i}")
                } else {
                    match path_element::item(list, item) {
                        Ok(key) => key,
                        Err(error) => {
                            return out.push(at(path, &format!("element {i}: {error}")));
                        }
                    }
                };
                let shown = path_element::display(&key);
                if !seen.insert(key) {
                    out.push(at(path, &format!("duplicate entries for key {shown}")));
                }
                check(&list.item, item, &format!("{path}{shown}"), out);
            }
        }
        (ValueType::List(_), v) => error(format!("expected list, got &{{{}}}", go_text(v))),
        (ValueType::Int(_) | ValueType::Float, Value::Number(_))
        | (ValueType::Bool, Value::Bool(_)) => {}
        (ValueType::Int(_) | ValueType::Float, v) => {
            error(format!(
                "expected numeric (int or float), got {}",
                go_type(v)
            ));
        }
        (ValueType::String { .. } | ValueType::Bytes, Value::String(_)) => {}
        (ValueType::String { .. } | ValueType::Bytes, v) => {
            error(format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go_syntax(v)
            ));
        }
        (ValueType::Bool, v) => error(format!("expected boolean, got &{{{}}}", go_text(v))),
        (_, v @ (Value::Array(_) | Value::Object(_))) => {
            error(format!("expected any scalar, got &{{{}}}", go_text(v)));
        }
        _ => {}
    }
}

fn fields(fields: Fields<'_>, value: &Value, path: &str, out: &mut Vec<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let here = format!("{path}.{name}");
        match fields.schema(name) {
            Some(schema) => check(schema, value, &here, out),
            None => return out.push(format!("{here}: field not declared in schema")),
        }
    }
}

fn at(path: &str, text: &str) -> String {
    if path.is_empty() {
        text.into()
    } else {
        format!("{path}: {text}")
    }
}

/// The value in Go's syntax.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Number(n) => n
            .as_f64()
            .filter(|_| n.is_f64())
            .map_or(n.to_string(), go_float),
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", parts.join(", "))
        }
        Value::Object(map) => {
            let parts: Vec<String> = map
                .iter()
                .map(|(k, v)| format!("{k:?}:{}", go_syntax(v)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", parts.join(", "))
        }
        Value::String(s) => format!("{s:?}"),
        Value::Bool(b) => b.to_string(),
    }
}
