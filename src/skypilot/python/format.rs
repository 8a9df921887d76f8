//! Values as text: `str`, `repr` and JSON.

use serde_json::Value as Json;

use crate::error::Exception;
use crate::value::{DEPTH, Value};

impl Value {
    /// The value as `str` writes it.
    pub fn to_text(&self) -> String {
        match self {
            Self::Str(text) => text.to_string(),
            other => other.repr(0),
        }
    }

    /// The value as `repr` writes it.
    pub(crate) fn repr(&self, depth: usize) -> String {
        if depth > DEPTH {
            return "...".into();
        }
        let join = |values: &[Value]| {
            let texts: Vec<String> = values.iter().map(|v| v.repr(depth + 1)).collect();
            texts.join(", ")
        };
        match self {
            Self::None => "None".into(),
            Self::Bool(true) => "True".into(),
            Self::Bool(false) => "False".into(),
            Self::Int(number) => number.to_string(),
            Self::Float(number) => format!("{number:?}"),
            Self::Str(text) => quoted(text),
            Self::List(values) => format!("[{}]", join(&values.lock().clone())),
            Self::Tuple(values) => match &values[..] {
                [only] => format!("({},)", only.repr(depth + 1)),
                values => format!("({})", join(values)),
            },
            Self::Dict(items) => {
                let items = items.lock().clone();
                let item = |(key, value): &(Value, Value)| {
                    format!("{}: {}", key.repr(depth + 1), value.repr(depth + 1))
                };
                let items: Vec<String> = items.iter().map(item).collect();
                format!("{{{}}}", items.join(", "))
            }
            Self::Reference(name) => format!("<{name}>"),
            Self::Object(object) => format!("<{}>", object.class),
            Self::Lambda(_) => "<lambda>".into(),
        }
    }

    /// The value as `json.dumps` encodes it.
    ///
    /// # Errors
    /// `TypeError` for values that JSON does not have.
    pub fn to_json(&self) -> Result<Json, Exception> {
        self.json_at(0)
    }

    fn json_at(&self, depth: usize) -> Result<Json, Exception> {
        if depth > DEPTH {
            return Err(Exception::new("ValueError", "Circular reference detected"));
        }
        Ok(match self {
            Self::None => Json::Null,
            Self::Bool(truth) => Json::Bool(*truth),
            Self::Int(number) => Json::from(*number),
            Self::Float(number) => Json::from(*number),
            Self::Str(text) => Json::from(&**text),
            Self::List(_) | Self::Tuple(_) => {
                let values = self.values().unwrap_or_default();
                let values = values.iter().map(|value| value.json_at(depth + 1));
                Json::Array(values.collect::<Result<_, _>>()?)
            }
            Self::Dict(items) => {
                let items = items.lock().clone();
                let item = |(key, value): &(Value, Value)| {
                    let key = match key {
                        Self::None => "null".to_owned(),
                        Self::Bool(truth) => truth.to_string(),
                        key => key.to_text(),
                    };
                    Ok((key, value.json_at(depth + 1)?))
                };
                Json::Object(items.iter().map(item).collect::<Result<_, _>>()?)
            }
            other => {
                let text = format!(
                    "Object of type {} is not JSON serializable",
                    other.type_name()
                );
                return Err(Exception::type_error(text));
            }
        })
    }

    /// The value that `json.loads` decodes.
    pub fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::None,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => match number.as_i64() {
                Some(number) => Self::Int(number),
                None => Self::Float(number.as_f64().unwrap_or_default()),
            },
            Json::String(text) => Self::str(text.as_str()),
            Json::Array(values) => Self::list(values.iter().map(Self::from_json).collect()),
            Json::Object(items) => Self::dict(
                items
                    .iter()
                    .map(|(key, value)| (Self::str(key.as_str()), Self::from_json(value)))
                    .collect(),
            ),
        }
    }
}

/// Text in quotes.
fn quoted(text: &str) -> String {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    let mut quoted = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\\' => quoted.push_str("\\\\"),
            c if c == quote => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push(quote);
    quoted
}
