//! Single values of built-in types: zero values, emptiness, and their form on the wire.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use super::{Shape, time};
use kueue_lab_quantity::Quantity;

/// What Go writes for an unset scalar that is not a pointer; `None` for lists, maps and structs.
pub(super) fn zero(shape: &Shape) -> Option<Value> {
    Some(match shape {
        Shape::Bool => Value::Bool(false),
        Shape::Int(_) | Shape::Float | Shape::IntOrString => Value::Number(0.into()),
        Shape::String { .. } => Value::String(String::new()),
        Shape::Quantity => Value::String("0".into()),
        Shape::Bytes | Shape::Time | Shape::MicroTime | Shape::Any(_) => Value::Null,
        Shape::List(_) | Shape::Map(_) | Shape::Struct(_) => return None,
    })
}

/// Why a value does not fit its type.
pub(super) enum Misfit {
    /// The wrong JSON type, named as Go's decoder names it: `string`, `number 1.5` ...; the type it
    /// should have where that is not the field's own.
    Type(String, Option<&'static str>),
    /// A text the type's own parser refuses, with its words.
    Parse(String),
}

/// What Go's JSON decoder calls a value.
pub(super) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Checks a scalar and brings it into the form the server answers. `lenient` accepts whole floats
/// for integers, as conversion from unstructured objects does.
pub(super) fn settle(shape: &Shape, value: &mut Value, lenient: bool) -> Result<(), Misfit> {
    let wrong = |v: &Value| Err(Misfit::Type(json_kind(v).into(), None));
    match (shape, &mut *value) {
        (Shape::Bool, Value::Bool(_)) | (Shape::String { .. }, Value::String(_)) => Ok(()),
        (Shape::Int(name), Value::Number(n)) => match whole(n, lenient) {
            Some(i) if fits(name, i) => {
                *n = i.into();
                Ok(())
            }
            _ => Err(Misfit::Type(format!("number {n}"), None)),
        },
        (Shape::Float, Value::Number(n)) => {
            if let Some(i) = n.as_f64().and_then(integral) {
                *n = i.into();
            }
            Ok(())
        }
        (Shape::IntOrString, Value::String(_)) => Ok(()),
        (Shape::IntOrString, Value::Number(n)) => match whole(n, false) {
            Some(i) if fits("int32", i) => Ok(()),
            _ => Err(Misfit::Type(format!("number {n}"), Some("int32"))),
        },
        (Shape::IntOrString, v) => Err(Misfit::Type(json_kind(v).into(), Some("int32"))),
        (Shape::Quantity, v) => {
            let text = match v {
                Value::String(s) => Quantity::parse(s.trim()),
                other => Quantity::parse(&other.to_string()),
            };
            *value = text
                .map_err(|e| Misfit::Parse(e.to_string()))?
                .to_string()
                .into();
            Ok(())
        }
        (Shape::Time, Value::String(s)) => settle_time(time::canonical(s), value),
        (Shape::MicroTime, Value::String(s)) => settle_time(time::canonical_micro(s), value),
        (Shape::Time | Shape::MicroTime, v) => {
            Err(Misfit::Type(json_kind(v).into(), Some("string")))
        }
        (Shape::Bytes, Value::String(s)) => {
            let plain: String = s.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
            let bytes = STANDARD.decode(&plain).map_err(|e| {
                Misfit::Parse(format!(
                    "illegal base64 data at input byte {}",
                    at(&e, &plain)
                ))
            })?;
            *value = STANDARD.encode(bytes).into();
            Ok(())
        }
        (Shape::Any(_), _) => Ok(()),
        (_, v) => wrong(v),
    }
}

fn settle_time(read: Result<Option<String>, String>, value: &mut Value) -> Result<(), Misfit> {
    *value = read
        .map_err(Misfit::Parse)?
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

/// The number as a whole one.
fn whole(n: &Number, lenient: bool) -> Option<i64> {
    n.as_i64().or_else(|| {
        if lenient {
            n.as_f64().and_then(integral)
        } else {
            None
        }
    })
}

/// A float without fraction that an `i64` holds exactly.
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
