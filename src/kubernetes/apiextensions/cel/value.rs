//! Conversion of JSON to CEL values: field names are escaped, times and durations are parsed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, Program, Value as Cel};
use kueue_lab_cel::SelectedFields;
use serde_json::Value;
use smallvec::SmallVec;

use kueue_lab_apimachinery::schema::{Schema, ValueType};

/// Reserved CEL identifiers. A field with such a name is selected by its name or its escaped name.
pub const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Converts a value by its schema.
pub(crate) fn to_cel(schema: &Schema, value: &Value) -> Cel {
    match (value, &schema.value_type) {
        (Value::Object(map), ValueType::Struct(value_type)) => {
            let mut fields = HashMap::with_capacity(map.len());
            for (name, value) in map {
                // CEL expressions cannot access fields that the schema does not declare.
                let Some(field) = value_type.field(name) else {
                    continue;
                };
                let value = to_cel(&field.schema, value);
                if RESERVED.contains(&name.as_str()) {
                    fields.insert(key(name), value.clone());
                }
                fields.insert(key(&escape_field_name(name)), value);
            }
            mapping(fields)
        }
        (Value::Object(map), ValueType::Map(value_type)) => mapping(
            map.iter()
                .map(|(k, v)| (key(k), to_cel(&value_type.value, v)))
                .collect(),
        ),
        (Value::Array(items), ValueType::List(value_type)) => Cel::List(Arc::new(
            items
                .iter()
                .map(|item| to_cel(&value_type.item, item))
                .collect(),
        )),
        (Value::String(text), ValueType::String { .. }) => {
            let format = schema
                .value_validation
                .as_ref()
                .map_or("", |r| r.format.as_str());
            parsed(format, text).unwrap_or_else(|| string(text))
        }
        (Value::Number(n), ValueType::Float) => Cel::Float(n.as_f64().unwrap_or_default()),
        (value, _) => untyped_to_cel(value),
    }
}

/// Converts the parts of a value that any of some expressions needs. In place of the others there
/// are empty values.
pub(crate) fn selected_to_cel(schema: &Schema, value: &Value, selected: &[&SelectedFields]) -> Cel {
    let is_object = value.is_object();
    if selected.iter().any(|s| s.whole || (s.length && is_object)) {
        return to_cel(schema, value);
    }
    match (value, &schema.value_type) {
        (Value::Object(map), ValueType::Struct(value_type)) => {
            let mut fields = HashMap::new();
            for (name, value) in map {
                let Some(field) = value_type.field(name) else {
                    continue;
                };
                let escaped = escape_field_name(name);
                let parts = field_parts(selected, name, &escaped);
                if parts.is_empty() {
                    continue;
                }
                let value = selected_to_cel(&field.schema, value, &parts);
                if RESERVED.contains(&name.as_str()) {
                    fields.insert(key(name), value.clone());
                }
                fields.insert(key(&escaped), value);
            }
            mapping(fields)
        }
        (Value::Array(items), ValueType::List(_)) => {
            let is_measured = selected.iter().any(|s| s.length);
            let length = if is_measured { items.len() } else { 0 };
            Cel::List(Arc::new(vec![Cel::Null; length]))
        }
        _ => to_cel(schema, value),
    }
}

/// The parts of a field of an object that expressions need.
fn field_parts<'a>(
    selected: &[&'a SelectedFields],
    name: &str,
    escaped: &str,
) -> SmallVec<[&'a SelectedFields; 8]> {
    let is_reserved = RESERVED.contains(&name);
    let parts = selected.iter().flat_map(|s| {
        let by_name = is_reserved.then(|| s.fields.get(name)).flatten();
        [s.fields.get(escaped), by_name]
    });
    parts.flatten().collect()
}

/// Converts a value without a schema.
pub(crate) fn untyped_to_cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(b) => Cel::Bool(*b),
        Value::Number(n) => match n.as_i64() {
            Some(i) => Cel::Int(i),
            None => Cel::Float(n.as_f64().unwrap_or_default()),
        },
        Value::String(s) => string(s),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(untyped_to_cel).collect())),
        Value::Object(map) => mapping(
            map.iter()
                .map(|(k, v)| (key(k), untyped_to_cel(v)))
                .collect(),
        ),
    }
}

/// A CEL value that has no JSON representation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToJsonError {
    /// A map has a key that is not a string; the key.
    #[error("map key {0} is not a string")]
    Key(String),
    /// A value has another type; the type.
    #[error("type {0}")]
    Type(String),
}

/// Converts a CEL value to JSON.
///
/// # Errors
/// The value has no JSON representation.
pub fn to_json(value: &Cel) -> Result<Value, ToJsonError> {
    Ok(match value {
        Cel::Null => Value::Null,
        Cel::Bool(b) => (*b).into(),
        Cel::Int(i) => (*i).into(),
        Cel::UInt(u) => (*u).into(),
        Cel::Float(f) => (*f).into(),
        Cel::String(s) => s.as_str().into(),
        Cel::Bytes(bytes) => STANDARD.encode(bytes.as_slice()).into(),
        Cel::List(items) => items.iter().map(to_json).collect::<Result<_, _>>()?,
        Cel::Map(map) => {
            let mut fields = serde_json::Map::new();
            for (key, value) in map.map.iter() {
                let Key::String(key) = key else {
                    return Err(ToJsonError::Key(format!("{key:?}")));
                };
                fields.insert(key.to_string(), to_json(value)?);
            }
            Value::Object(fields)
        }
        other => return Err(ToJsonError::Type(format!("{:?}", other.type_of()))),
    })
}

fn string(text: &str) -> Cel {
    Cel::String(Arc::new(text.into()))
}

fn key(text: &str) -> Key {
    Key::String(Arc::new(text.into()))
}

fn mapping(map: HashMap<Key, Cel>) -> Cel {
    Cel::Map(Map { map: Arc::new(map) })
}

/// Whether an expression selects the field `name` by `selected`: its escaped name, or a reserved
/// word itself.
pub(crate) fn is_selected_by(name: &str, selected: &str) -> bool {
    (name == selected && RESERVED.contains(&name)) || escape_field_name(name) == selected
}

/// Escapes a field name for CEL, apiserver's `cel.Escape`.
fn escape_field_name(name: &str) -> Cow<'_, str> {
    if RESERVED.contains(&name) {
        return Cow::Owned(format!("__{name}__"));
    }
    if !name.contains(['.', '-', '/']) && !name.contains("__") {
        return Cow::Borrowed(name);
    }
    let escaped = name
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    Cow::Owned(escaped)
}

/// Parses a string of a format that CEL represents by another type.
fn parsed(format: &str, text: &str) -> Option<Cel> {
    static TIME: LazyLock<Option<Program>> =
        LazyLock::new(|| Program::compile("timestamp(text)").ok());
    static DURATION: LazyLock<Option<Program>> =
        LazyLock::new(|| Program::compile("duration(text)").ok());
    let program = match format {
        "date-time" => TIME.as_ref()?,
        "duration" => DURATION.as_ref()?,
        _ => return None,
    };
    let mut context = Context::default();
    context.add_variable_from_value("text", string(text));
    program.execute(&context).ok()
}
