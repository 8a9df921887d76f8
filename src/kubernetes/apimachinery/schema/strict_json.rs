//! Parses request bodies to JSON values and records duplicate keys; errors are worded as in Go.

use std::fmt;

use kueue_lab_yaml::{Limits, Node};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

use super::decode_limits::{MAX_DEPTH, MAX_VALUES, TooManyValues, YamlError, check_yaml};

/// Maximum number of strict decoding errors reported for one body.
pub(crate) const MAX_STRICT_ERRORS: usize = 100;

/// A parsed body.
#[derive(Debug)]
pub struct ParsedBody {
    /// The value; of duplicate keys, the last one is kept.
    pub value: Value,
    /// Paths of duplicate keys, such as `spec.replicas`, without repetitions.
    pub duplicates: Vec<String>,
}

/// Why a body is not parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseBodyError {
    /// It is not JSON; the message of Go.
    #[error("{0}")]
    Json(String),
    /// It has too many values.
    #[error(transparent)]
    TooManyValues(#[from] TooManyValues),
    /// It is not YAML.
    #[error("error converting YAML to JSON: {0}")]
    Yaml(#[from] YamlError),
}

/// Parses a JSON body.
///
/// # Errors
/// The syntax error, worded as in Go.
pub fn parse(body: &[u8]) -> Result<ParsedBody, ParseBodyError> {
    let mut duplicates = Vec::new();
    let mut left = MAX_VALUES;
    let mut reader = serde_json::Deserializer::from_slice(body);
    let seed = ValueSeed {
        path: None,
        duplicates: &mut duplicates,
        left: &mut left,
    };
    let value = seed
        .deserialize(&mut reader)
        .and_then(|v| reader.end().map(|()| v));
    match value {
        Ok(value) => Ok(ParsedBody { value, duplicates }),
        Err(_) if left == 0 => Err(TooManyValues.into()),
        Err(e) => {
            let message = kueue_lab_json::go_syntax_error(body);
            Err(ParseBodyError::Json(
                message.unwrap_or_else(|| e.to_string()),
            ))
        }
    }
}

/// Parses a body as JSON or YAML. Plain scalars are those of `sigs.k8s.io/yaml`, YAML 1.1 without
/// regard to the type of the field: `name: n` is a boolean.
///
/// # Errors
/// It is neither.
pub fn parse_yaml(body: &[u8]) -> Result<ParsedBody, ParseBodyError> {
    if body.trim_ascii_start().starts_with(b"{")
        && let Ok(parsed) = parse(body)
    {
        return Ok(parsed);
    }
    let value = yaml_to_json(body)?;
    Ok(ParsedBody {
        value,
        duplicates: Vec::new(),
    })
}

/// The first document of YAML.
fn yaml_to_json(body: &[u8]) -> Result<Value, YamlError> {
    check_yaml(body)?;
    let limits = Limits {
        bytes: body.len(),
        nodes: 2 * MAX_VALUES,
        depth: MAX_DEPTH,
    };
    match kueue_lab_yaml::utf8(body).and_then(|text| kueue_lab_yaml::parse(text, limits)) {
        Ok(documents) => Ok(documents.first().map_or(Value::Null, Node::to_json)),
        // serde_yaml words syntax errors as libyaml, from which Go's parser comes.
        Err(problem) => Err(match serde_yaml::from_slice::<IgnoredAny>(body) {
            Err(error) => YamlError::Syntax(error.to_string()),
            Ok(_) => YamlError::Value {
                line: problem.at.line,
                message: problem.message,
            },
        }),
    }
}

/// The path of a value, as a linked list on the stack.
#[derive(Clone, Copy)]
struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    element: PathElement<'p>,
}

#[derive(Clone, Copy)]
enum PathElement<'p> {
    Key(&'p str),
    Index(usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.element {
            PathElement::Key(key) if self.parent.is_some() => write!(f, ".{key}"),
            PathElement::Key(key) => f.write_str(key),
            PathElement::Index(i) => write!(f, "[{i}]"),
        }
    }
}

struct ValueSeed<'p, 'd> {
    path: Option<&'p Path<'p>>,
    duplicates: &'d mut Vec<String>,
    /// The number of values that may follow.
    left: &'d mut usize,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        *self.left = self.left.saturating_sub(1);
        if *self.left == 0 {
            return Err(D::Error::custom(TooManyValues));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(match i64::try_from(v) {
            Ok(v) => Value::Number(v.into()),
            #[allow(
                clippy::cast_precision_loss,
                reason = "Kubernetes keeps such numbers as floats"
            )]
            Err(_) => Number::from_f64(v as f64).map_or(Value::Null, Value::Number),
        })
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Value, E> {
        Number::from_f64(v)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(Value::String(v.to_owned()))
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(Value::String(v))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let path = Path {
                parent: self.path,
                element: PathElement::Index(items.len()),
            };
            let seed = ValueSeed {
                path: Some(&path),
                duplicates: &mut *self.duplicates,
                left: &mut *self.left,
            };
            match seq.next_element_seed(seed)? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let path = Path {
                parent: self.path,
                element: PathElement::Key(&key),
            };
            let seed = ValueSeed {
                path: Some(&path),
                duplicates: &mut *self.duplicates,
                left: &mut *self.left,
            };
            let value = access.next_value_seed(seed)?;
            if map.contains_key(&key) && self.duplicates.len() < MAX_STRICT_ERRORS {
                let text = path.to_string();
                if !self.duplicates.contains(&text) {
                    self.duplicates.push(text);
                }
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn duplicates_are_named_by_path_and_the_last_wins() {
        let p = parse(br#"{"a":{"b":[{"c":1,"c":2}]},"x":1,"x":2,"x":3}"#).unwrap();
        assert_eq!(p.value, json!({"a": {"b": [{"c": 2}]}, "x": 3}));
        assert_eq!(p.duplicates, ["a.b[0].c", "x"]);
    }

    #[test]
    fn errors_are_those_of_go() {
        let text = |s: &str| parse(s.as_bytes()).unwrap_err().to_string();
        assert_eq!(text("{"), "unexpected end of JSON input");
        assert_eq!(text(""), "unexpected end of JSON input");
        assert_eq!(
            text("a: [b"),
            "invalid character 'a' looking for beginning of value"
        );
        assert_eq!(text("{\"a\":1,}"), {
            "invalid character '}' looking for beginning of object key string"
        });
        assert_eq!(text("{\"a\" 1}"), "invalid character '1' after object key");
        assert_eq!(text("[1 2]"), "invalid character '2' after array element");
        assert_eq!(
            text("{\"a\":1 2}"),
            "invalid character '2' after object key:value pair"
        );
        assert_eq!(text("{} x"), "invalid character 'x' after top-level value");
        assert_eq!(
            text("tru!"),
            "invalid character '!' in literal true (expecting 'e')"
        );
        assert_eq!(
            text("\"a\nb\""),
            "invalid character '\\n' in string literal"
        );
        assert_eq!(text("-x"), "invalid character 'x' in numeric literal");
    }

    #[test]
    fn scalars_of_yaml_are_those_of_yaml_1_1() {
        let value = |text: &str| parse_yaml(text.as_bytes()).unwrap().value;
        assert_eq!(
            value("name: n\nlabels: {y: on, 'no': 'off'}\nmode: 0644\nday: 2026-01-02\n"),
            json!({
                "name": false, "labels": {"true": true, "no": "off"}, "mode": 420, "day": "2026-01-02",
            })
        );
        assert_eq!(value("a: 1\n---\nb: 2\n"), json!({"a": 1}));
        assert_eq!(value("# no content\n"), Value::Null);
        let error = parse_yaml(b"a: [1\nb: 2\n").unwrap_err().to_string();
        assert!(
            error.starts_with("error converting YAML to JSON: yaml: "),
            "{error}"
        );
        let error = parse_yaml(b"a: .inf\n").unwrap_err().to_string();
        assert!(error.contains("line 1: .inf is not a number"), "{error}");
    }

    #[test]
    fn big_numbers_become_floats() {
        let p = parse(b"[18446744073709551615, 9223372036854775807]").unwrap();
        assert!(p.value[0].is_f64());
        assert!(p.value[1].is_i64());
    }
}
