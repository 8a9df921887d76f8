//! Objects formatted as in Go, for error messages that contain an object.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Schema, ValueType};

/// The object as JSON after a patch: keys are sorted in objects the patch changes, and in
/// declaration order in all others. Without a patch only the keys of
/// the outermost object are sorted.
pub(crate) fn patched_text(schema: &Schema, value: &Value, patch: Option<&Value>) -> String {
    let mut out = String::new();
    write_patched(Some(schema), value, patch.unwrap_or(&Value::Null), &mut out);
    out
}

fn write_patched(schema: Option<&Schema>, value: &Value, patch: &Value, out: &mut String) {
    let Value::Object(map) = value else {
        return write_value(schema, value, out);
    };
    out.push('{');
    for (i, (key, value)) in map.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}:", Value::String(key.clone()));
        let sub = schema.and_then(|s| s.child(key));
        match patch.get(key) {
            Some(patch) if patch.is_object() => write_patched(sub, value, patch, out),
            _ => write_value(sub, value, out),
        }
    }
    out.push('}');
}

fn write_value(schema: Option<&Schema>, value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(schema.and_then(Schema::item), item, out);
            }
            out.push(']');
        }
        Value::Object(map) => write_object(schema, map, out),
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

fn write_object(schema: Option<&Schema>, map: &Map<String, Value>, out: &mut String) {
    let mut keys: Vec<&String> = map.keys().collect();
    if let Some(ValueType::Struct(s)) = schema.map(|s| &s.value_type) {
        keys.sort_by_key(|k| s.field(k).map_or(u16::MAX, |f| f.order));
    }
    out.push('{');
    for (i, key) in keys.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}:", Value::String(key.clone()));
        if let Some(value) = map.get(key) {
            write_value(schema.and_then(|s| s.child(key)), value, out);
        }
    }
    out.push('}');
}

/// The value in Go's `%v` format: `map[a:1 b:[x y]]`.
pub fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(s) => s.clone(),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().map(go_text).collect();
            format!("[{}]", texts.join(" "))
        }
        Value::Object(map) => {
            let texts: Vec<String> = map
                .iter()
                .map(|(k, v)| format!("{k}:{}", go_text(v)))
                .collect();
            format!("map[{}]", texts.join(" "))
        }
        Value::Number(n) => match n.as_f64() {
            Some(f) if n.is_f64() => go_float(f),
            _ => n.to_string(),
        },
        Value::Bool(b) => b.to_string(),
    }
}

/// A float in Go's `%v` format: `1.5`, `1e+21`.
pub fn go_float(f: f64) -> String {
    let exponent = if f == 0.0 {
        0.0
    } else {
        f.abs().log10().floor()
    };
    if (-5.0..21.0).contains(&exponent) {
        return f.to_string();
    }
    let text = format!("{f:e}");
    match text.split_once('e') {
        Some((mantissa, e)) if e.starts_with('-') => format!("{mantissa}e-{:0>2}", &e[1..]),
        Some((mantissa, e)) => format!("{mantissa}e+{e:0>2}"),
        None => text,
    }
}

/// The Go type of a decoded JSON value.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_in_declaration_order() {
        let schema = super::super::builtin_schema("", "v1", "ConfigMap").unwrap();
        let value = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "1", "a": "2"},
            "metadata": {"uid": "u", "namespace": "ns", "name": "n"},
        });
        let mut text = String::new();
        write_value(Some(&schema), &value, &mut text);
        assert_eq!(
            text,
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"n","namespace":"ns","uid":"u"},"data":{"a":"2","b":"1"}}"#
        );
    }

    #[test]
    fn go_text_of_maps() {
        let value = json!({"spec": {"replicas": "x", "list": [1, true, null]}});
        assert_eq!(
            go_text(&value),
            "map[spec:map[list:[1 true <nil>] replicas:x]]"
        );
        assert_eq!(go_text(&json!(1e21)), "1e+21");
        assert_eq!(go_text(&json!(0.5)), "0.5");
    }
}
