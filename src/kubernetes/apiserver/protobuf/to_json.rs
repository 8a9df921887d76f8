//! The JSON form of a message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use prost_reflect::{DynamicMessage, MapKey, ReflectMessage, Value as Proto};
use serde_json::{Map, Value};

use super::ProtobufError;
use super::envelope::{self, MAGIC};
use super::well_known::{WellKnown, well_known};
use kueue_lab_duration::Duration;

/// The JSON form of a message: an object of its fields unless the message is well known.
pub(super) fn object(message: &DynamicMessage) -> Result<Value, ProtobufError> {
    if let Some(kind) = well_known(&message.descriptor()) {
        return special(kind, message);
    }
    let descriptor = message.descriptor();
    if let Some(items) = descriptor.fields().find(|field| field.json_name() == "*") {
        return value(&message.get_field(&items));
    }
    let mut object = Map::new();
    fill(message, &mut object)?;
    Ok(Value::Object(object))
}

fn fill(message: &DynamicMessage, object: &mut Map<String, Value>) -> Result<(), ProtobufError> {
    for (field, proto) in message.fields() {
        match (field.json_name(), proto) {
            ("-", _) => {}
            (name, Proto::Message(inline)) if name.starts_with('>') => fill(inline, object)?,
            (name, proto) => {
                object.insert(name.to_owned(), value(proto)?);
            }
        }
    }
    Ok(())
}

fn value(proto: &Proto) -> Result<Value, ProtobufError> {
    Ok(match proto {
        Proto::Bool(b) => Value::Bool(*b),
        Proto::I32(n) | Proto::EnumNumber(n) => (*n).into(),
        Proto::I64(n) => (*n).into(),
        Proto::U32(n) => (*n).into(),
        Proto::U64(n) => (*n).into(),
        Proto::F32(n) => (*n).into(),
        Proto::F64(n) => (*n).into(),
        Proto::String(text) => text.as_str().into(),
        Proto::Bytes(bytes) => STANDARD.encode(bytes).into(),
        Proto::Message(message) => object(message)?,
        Proto::List(list) => {
            let items = list.iter().map(value);
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Proto::Map(map) => {
            let mut entries: Vec<(String, Value)> = Vec::with_capacity(map.len());
            for (key, item) in map {
                entries.push((map_key(key), value(item)?));
            }
            // The order of a protobuf map is random.
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
    })
}

fn map_key(key: &MapKey) -> String {
    match key {
        MapKey::Bool(b) => b.to_string(),
        MapKey::I32(n) => n.to_string(),
        MapKey::I64(n) => n.to_string(),
        MapKey::U32(n) => n.to_string(),
        MapKey::U64(n) => n.to_string(),
        MapKey::String(text) => text.clone(),
    }
}

fn special(kind: WellKnown, message: &DynamicMessage) -> Result<Value, ProtobufError> {
    let number = |name: &str| {
        let field = message.get_field_by_name(name);
        field.and_then(|f| f.as_i64().or_else(|| f.as_i32().map(i64::from)))
    };
    let number = |name: &str| number(name).unwrap_or_default();
    let text = |name: &str| {
        let field = message.get_field_by_name(name);
        field.and_then(|f| f.as_str().map(str::to_owned))
    };
    Ok(match kind {
        WellKnown::Time | WellKnown::MicroTime => {
            if message.fields().next().is_none() {
                return Ok(Value::Null);
            }
            let nanoseconds = i32::try_from(number("nanos")).unwrap_or_default();
            let Ok(time) = Timestamp::new(number("seconds"), nanoseconds) else {
                return Ok(Value::Null);
            };
            match kind {
                WellKnown::Time => format!("{time:.0}").into(),
                _ => format!("{time:.6}").into(),
            }
        }
        WellKnown::Duration => Duration::from_nanos(number("duration")).to_string().into(),
        WellKnown::Quantity => text("string").unwrap_or_default().into(),
        WellKnown::IntOrString => match number("type") {
            0 => number("intVal").into(),
            _ => text("strVal").unwrap_or_default().into(),
        },
        WellKnown::Json => embedded(message)?,
        WellKnown::SchemaOrBool => match child(message, "schema")? {
            Some(schema) => schema,
            None => child(message, "allows")?.unwrap_or(Value::Bool(false)),
        },
        WellKnown::SchemaOrArray => match child(message, "jSONSchemas")? {
            Some(schemas) => schemas,
            None => child(message, "schema")?.unwrap_or(Value::Null),
        },
        WellKnown::SchemaOrStringArray => match child(message, "property")? {
            Some(properties) => properties,
            None => child(message, "schema")?.unwrap_or(Value::Null),
        },
    })
}

/// The JSON form of a field that is set.
fn child(message: &DynamicMessage, name: &str) -> Result<Option<Value>, ProtobufError> {
    let field = message.descriptor().get_field_by_name(name);
    let field = field.filter(|field| message.has_field(field));
    field
        .map(|field| value(&message.get_field(&field)))
        .transpose()
}

/// The object in the bytes of a message: JSON, or an object with its envelope.
fn embedded(message: &DynamicMessage) -> Result<Value, ProtobufError> {
    let Some((_, bytes)) = message.fields().next() else {
        return Ok(Value::Null);
    };
    let bytes = bytes.as_bytes().map(AsRef::as_ref).unwrap_or_default();
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if bytes.starts_with(MAGIC) {
        return envelope::decode(bytes);
    }
    serde_json::from_slice(bytes)
        .map_err(|_| ProtobufError::EmbeddedJson(message.descriptor().name().to_owned()))
}
