//! Scalars of built-in types: zero values and canonical encoding.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use super::ValueType;
use super::time::{self, ParseTimeError};
use kueue_lab_quantity::Quantity;

/// The zero value of a scalar as Go encodes it; `None` for lists, maps and structs.
pub(super) fn zero(value_type: &ValueType) -> Option<Value> {
    Some(match value_type {
        ValueType::Bool => Value::Bool(false),
        ValueType::Int(_) | ValueType::Float | ValueType::IntOrString => Value::Number(0.into()),
        ValueType::String { .. } => Value::String(String::new()),
        ValueType::Quantity => Value::String("0".into()),
        ValueType::Bytes | ValueType::Time | ValueType::MicroTime | ValueType::Any(_) => {
            Value::Null
        }
        ValueType::List(_) | ValueType::Map(_) | ValueType::Struct(_) => return None,
    })
}

/// The error of decoding a scalar.
pub(super) enum ScalarError {
    /// The value has the wrong JSON type, named as by Go's decoder: `string`, `number 1.5` ...; and
    /// the expected Go type if it is not that of the field.
    Type(String, Option<&'static str>),
    /// The parser of the type rejects the text; its error message.
    Parse(String),
}

/// The kind of a value as named by Go's JSON decoder.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Validates a scalar and converts it to canonical form. `lenient` accepts floats without a
/// fraction as integers, as the conversion from unstructured does.
pub(super) fn normalize_scalar(
    value_type: &ValueType,
    value: &mut Value,
    lenient: bool,
) -> Result<(), ScalarError> {
    let wrong = |v: &Value| Err(ScalarError::Type(json_kind(v).into(), None));
    match (value_type, &mut *value) {
        (ValueType::Bool, Value::Bool(_)) | (ValueType::String { .. }, Value::String(_)) => Ok(()),
        (ValueType::Int(name), Value::Number(n)) => match whole(n, lenient) {
            Some(i) if fits(name, i) => {
                *n = i.into();
                Ok(())
            }
            _ => Err(ScalarError::Type(format!("number {n}"), None)),
        },
        (ValueType::Float, Value::Number(n)) => {
            if let Some(i) = n.as_f64().and_then(integral) {
                *n = i.into();
            }
            Ok(())
        }
        (ValueType::IntOrString, Value::String(_)) => Ok(()),
        (ValueType::IntOrString, Value::Number(n)) => match whole(n, false) {
            Some(i) if fits("int32", i) => Ok(()),
            _ => Err(ScalarError::Type(format!("number {n}"), Some("int32"))),
        },
        (ValueType::IntOrString, v) => Err(ScalarError::Type(json_kind(v).into(), Some("int32"))),
        (ValueType::Quantity, v) => {
            let text = match v {
                Value::String(s) => Quantity::parse(s.trim()),
                other => Quantity::parse(&other.to_string()),
            };
            *value = text
                .map_err(|e| ScalarError::Parse(e.to_string()))?
                .to_string()
                .into();
            Ok(())
        }
        (ValueType::Time, Value::String(s)) => normalize_time(time::canonical(s), value),
        (ValueType::MicroTime, Value::String(s)) => normalize_time(time::canonical_micro(s), value),
        (ValueType::Time | ValueType::MicroTime, v) => {
            Err(ScalarError::Type(json_kind(v).into(), Some("string")))
        }
        (ValueType::Bytes, Value::String(s)) => {
            let plain: String = s.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
            let bytes = STANDARD.decode(&plain).map_err(|e| {
                ScalarError::Parse(format!(
                    "illegal base64 data at input byte {}",
                    at(&e, &plain)
                ))
            })?;
            *value = STANDARD.encode(bytes).into();
            Ok(())
        }
        (ValueType::Any(_), _) => Ok(()),
        (_, v) => wrong(v),
    }
}

fn normalize_time(
    read: Result<Option<String>, ParseTimeError>,
    value: &mut Value,
) -> Result<(), ScalarError> {
    *value = read
        .map_err(|error| ScalarError::Parse(error.to_string()))?
        .map_or(Value::Null, Value::String);
    Ok(())
}

fn at(error: &base64::DecodeError, text: &str) -> usize {
    match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
            *at
        }
        _ => text.len(),
    }
}

/// The number as an integer.
fn whole(n: &Number, lenient: bool) -> Option<i64> {
    n.as_i64().or_else(|| {
        if lenient {
            n.as_f64().and_then(integral)
        } else {
            None
        }
    })
}

/// The integer value of a float without fraction whose absolute value is below 9e15.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the range is checked first"
)]
pub(super) fn integral(f: f64) -> Option<i64> {
    (f.fract() == 0.0 && f.abs() < 9.0e15).then_some(f as i64)
}

fn fits(name: &str, i: i64) -> bool {
    match name {
        "int32" => i32::try_from(i).is_ok(),
        "uint16" => u16::try_from(i).is_ok(),
        "uint32" => u32::try_from(i).is_ok(),
        "uint64" => i >= 0,
        _ => true,
    }
}
