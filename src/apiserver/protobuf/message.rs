//! Decoding of a protobuf message into a JSON object.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::ProtobufError;
use super::table::{Cardinality, Field, Message};
use super::wire::{self, WireValue as Wire};

/// Maximum nesting depth of messages.
const DEPTH: usize = 64;

/// Decodes the bytes of a message.
pub(super) fn decode(message: &'static Message, bytes: &[u8]) -> Result<Value, ProtobufError> {
    object(message, bytes, DEPTH)
}

fn object(message: &'static Message, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
    let mut out = Map::new();
    fill(message, bytes, depth, &mut out)?;
    match (message.fields.as_slice(), out.remove("*")) {
        ([only], Some(list)) if only.name == "*" => Ok(list),
        ([only], None) if only.name == "*" => Ok(Value::Array(Vec::new())),
        _ => Ok(Value::Object(out)),
    }
}

fn fill(
    message: &'static Message,
    bytes: &[u8],
    depth: usize,
    out: &mut Map<String, Value>,
) -> Result<(), ProtobufError> {
    let depth = depth.checked_sub(1).ok_or(ProtobufError::Depth)?;
    for read in wire::fields(bytes) {
        let (number, wire) = read?;
        // Unknown fields, e.g. of newer clients, are skipped.
        let Some(field) = message.field(number) else {
            continue;
        };
        if field.name == ">" {
            if let (Wire::Bytes(bytes), Some(inner)) = (wire, message.refer(field.kind)) {
                fill(inner, bytes, depth, out)?;
            }
            continue;
        }
        let slot = out.entry(field.name);
        match field.cardinality {
            Cardinality::One => {
                let value = value(message, field, wire, depth)?;
                *slot.or_insert(Value::Null) = value;
            }
            Cardinality::List => {
                let list = slot.or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(list) = list {
                    list.push(value(message, field, wire, depth)?);
                }
            }
            Cardinality::Map => {
                let map = slot.or_insert_with(|| Value::Object(Map::new()));
                if let (Value::Object(map), Wire::Bytes(bytes)) = (map, wire) {
                    let (key, value) = entry(message, field, bytes, depth)?;
                    map.insert(key, value);
                }
            }
        }
    }
    Ok(())
}

/// Decodes a map entry: the key is field 1, the value field 2.
fn entry(
    message: &'static Message,
    field: &Field,
    bytes: &[u8],
    depth: usize,
) -> Result<(String, Value), ProtobufError> {
    let (mut key, mut found) = (String::new(), None);
    for read in wire::fields(bytes) {
        match read? {
            (1, Wire::Bytes(b)) => key = text(b)?,
            (2, wire) => found = Some(value(message, field, wire, depth)?),
            _ => {}
        }
    }
    let value = match found {
        Some(value) => value,
        None => value(message, field, Wire::Bytes(&[]), depth)?,
    };
    Ok((key, value))
}

fn text(bytes: &[u8]) -> Result<String, ProtobufError> {
    wire::text(bytes, "string")
}

fn value(
    message: &'static Message,
    field: &Field,
    wire: Wire<'_>,
    depth: usize,
) -> Result<Value, ProtobufError> {
    let wrong = || ProtobufError::WireType(field.name);
    Ok(match (field.kind, wire) {
        ("b", Wire::Varint(n)) => Value::Bool(n != 0),
        // Negative integers are encoded as 64-bit two's complement.
        ("i", Wire::Varint(n)) => n.cast_signed().into(),
        ("f", Wire::Fixed64(n)) => f64::from_bits(n).into(),
        ("f", Wire::Fixed32(n)) => f32::from_bits(n).into(),
        ("b" | "i" | "f", _) => return Err(wrong()),
        (kind, Wire::Bytes(bytes)) => match kind {
            "s" => text(bytes)?.into(),
            "y" => STANDARD.encode(bytes).into(),
            "T" => time(bytes, false)?,
            "U" => time(bytes, true)?,
            "Q" => string_at(bytes, 1)?.into(),
            "D" => SignedDuration::from_nanos(integer_at(bytes, 1)?)
                .to_string()
                .into(),
            "I" => int_or_string(bytes)?,
            "R" | "F" => json_at(bytes, 1)?,
            kind => {
                let inner = message.refer(kind).ok_or_else(wrong)?;
                object(inner, bytes, depth)?
            }
        },
        _ => return Err(wrong()),
    })
}

fn integer_at(bytes: &[u8], number: u32) -> Result<i64, ProtobufError> {
    let mut found = 0;
    for read in wire::fields(bytes) {
        if let (n, Wire::Varint(v)) = read?
            && n == number
        {
            found = v.cast_signed();
        }
    }
    Ok(found)
}

fn bytes_at(bytes: &[u8], number: u32) -> Result<&[u8], ProtobufError> {
    let mut found = &[][..];
    for read in wire::fields(bytes) {
        if let (n, Wire::Bytes(b)) = read?
            && n == number
        {
            found = b;
        }
    }
    Ok(found)
}

fn string_at(bytes: &[u8], number: u32) -> Result<String, ProtobufError> {
    text(bytes_at(bytes, number)?)
}

fn json_at(bytes: &[u8], number: u32) -> Result<Value, ProtobufError> {
    let raw = bytes_at(bytes, number)?;
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(raw).map_err(|_| ProtobufError::Text("raw"))
}

/// Decodes a `Time` of seconds and nanoseconds since the Unix epoch; an empty message is null.
fn time(bytes: &[u8], micro: bool) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let nanos = i32::try_from(integer_at(bytes, 2)?).unwrap_or(0);
    let Ok(at) = Timestamp::new(integer_at(bytes, 1)?, nanos) else {
        return Ok(Value::Null);
    };
    Ok(if micro {
        format!("{at:.6}").into()
    } else {
        format!("{at:.0}").into()
    })
}

fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    Ok(match integer_at(bytes, 1)? {
        0 => integer_at(bytes, 2)?.into(),
        _ => string_at(bytes, 3)?.into(),
    })
}
