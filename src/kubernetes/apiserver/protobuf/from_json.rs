//! A message from its JSON form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value as Proto,
};
use serde_json::{Map, Value};

use super::ProtobufError;
use super::well_known::{WellKnown, well_known};
use kueue_lab_duration::Duration;

/// The message of a JSON value. Fields that the message does not have are left out, as in Go.
///
/// # Errors
/// [`ProtobufError::ValueType`] if a value has another type than its field.
pub(super) fn message(
    descriptor: &MessageDescriptor,
    json: &Value,
) -> Result<DynamicMessage, ProtobufError> {
    if let Some(kind) = well_known(descriptor) {
        return special(kind, descriptor, json);
    }
    let mut message = DynamicMessage::new(descriptor.clone());
    if let Some(items) = descriptor.fields().find(|field| field.json_name() == "*") {
        message.set_field(&items, field_value(&items, json)?);
        return Ok(message);
    }
    let Some(object) = json.as_object() else {
        return Err(ProtobufError::ValueType(descriptor.name().to_owned()));
    };
    fill(&mut message, object)?;
    Ok(message)
}

fn fill(message: &mut DynamicMessage, object: &Map<String, Value>) -> Result<(), ProtobufError> {
    use prost_reflect::ReflectMessage;

    for field in message.descriptor().fields() {
        match (field.json_name(), field.kind()) {
            ("-", _) => {}
            (name, Kind::Message(inner)) if name.starts_with('>') => {
                let mut inline = DynamicMessage::new(inner);
                fill(&mut inline, object)?;
                if inline.fields().next().is_some() {
                    message.set_field(&field, Proto::Message(inline));
                }
            }
            (name, _) => match object.get(name) {
                None | Some(Value::Null) => {}
                Some(json) => message.set_field(&field, field_value(&field, json)?),
            },
        }
    }
    Ok(())
}

/// The value of a field, with all items of a list or map.
fn field_value(field: &FieldDescriptor, json: &Value) -> Result<Proto, ProtobufError> {
    let wrong = || ProtobufError::ValueType(field.full_name().to_owned());
    let kind = field.kind();
    if field.is_map()
        && let Kind::Message(entry) = &kind
    {
        let item = entry.map_entry_value_field();
        let entries = json.as_object().ok_or_else(wrong)?.iter();
        let entries = entries.map(|(key, json)| {
            let value = match json {
                Value::Null => Proto::default_value(&item.kind()),
                json => single(&item, &item.kind(), json)?,
            };
            Ok((MapKey::String(key.clone()), value))
        });
        return Ok(Proto::Map(entries.collect::<Result<_, ProtobufError>>()?));
    }
    if field.is_list() {
        let items = json.as_array().ok_or_else(wrong)?.iter();
        let items = items.map(|json| single(field, &kind, json));
        return Ok(Proto::List(items.collect::<Result<_, _>>()?));
    }
    single(field, &kind, json)
}

fn single(field: &FieldDescriptor, kind: &Kind, json: &Value) -> Result<Proto, ProtobufError> {
    let wrong = || ProtobufError::ValueType(field.full_name().to_owned());
    let found = match kind {
        Kind::Bool => json.as_bool().map(Proto::Bool),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => integer(json)
            .and_then(|n| i32::try_from(n).ok())
            .map(Proto::I32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => integer(json).map(Proto::I64),
        Kind::Uint32 | Kind::Fixed32 => integer(json)
            .and_then(|n| u32::try_from(n).ok())
            .map(Proto::U32),
        Kind::Uint64 | Kind::Fixed64 => json.as_u64().map(Proto::U64),
        Kind::Double => json.as_f64().map(Proto::F64),
        Kind::Float => json.as_f64().map(|n| Proto::F32(n as f32)),
        Kind::String => json.as_str().map(|text| Proto::String(text.to_owned())),
        Kind::Bytes => {
            let bytes = json.as_str().and_then(|text| STANDARD.decode(text).ok());
            bytes.map(|bytes| Proto::Bytes(bytes.into()))
        }
        Kind::Message(inner) => Some(Proto::Message(message(inner, json)?)),
        Kind::Enum(_) => None,
    };
    found.ok_or_else(wrong)
}

/// An integer, also in the form `3.0`.
fn integer(json: &Value) -> Option<i64> {
    json.as_i64().or_else(|| {
        let number = json
            .as_f64()
            .filter(|n| n.fract() == 0.0 && n.abs() < 9e15)?;
        Some(number as i64)
    })
}

fn special(
    kind: WellKnown,
    descriptor: &MessageDescriptor,
    json: &Value,
) -> Result<DynamicMessage, ProtobufError> {
    let wrong = || ProtobufError::ValueType(descriptor.full_name().to_owned());
    let mut message = DynamicMessage::new(descriptor.clone());
    let mut set = |name: &str, value: Proto| message.set_field_by_name(name, value);
    let field = |name: &str| descriptor.get_field_by_name(name).ok_or_else(wrong);
    match kind {
        WellKnown::Time | WellKnown::MicroTime => {
            if json.is_null() {
                return Ok(message);
            }
            let time: Timestamp = json
                .as_str()
                .and_then(|t| t.parse().ok())
                .ok_or_else(wrong)?;
            set("seconds", Proto::I64(time.as_second()));
            set("nanos", Proto::I32(time.subsec_nanosecond()));
        }
        WellKnown::Duration => {
            let duration = json.as_str().and_then(|text| text.parse::<Duration>().ok());
            set(
                "duration",
                Proto::I64(duration.ok_or_else(wrong)?.as_nanos()),
            );
        }
        WellKnown::Quantity => match json {
            Value::String(text) => set("string", Proto::String(text.clone())),
            Value::Number(number) => set("string", Proto::String(number.to_string())),
            _ => return Err(wrong()),
        },
        WellKnown::IntOrString => match json {
            Value::String(text) => {
                set("type", Proto::I64(1));
                set("intVal", Proto::I32(0));
                set("strVal", Proto::String(text.clone()));
            }
            json => {
                let number = integer(json).and_then(|n| i32::try_from(n).ok());
                set("type", Proto::I64(0));
                set("intVal", Proto::I32(number.ok_or_else(wrong)?));
                set("strVal", Proto::String(String::new()));
            }
        },
        WellKnown::Json => {
            let bytes = serde_json::to_vec(json).map_err(|_| wrong())?;
            let raw = descriptor.fields().next().ok_or_else(wrong)?;
            message.set_field(&raw, Proto::Bytes(bytes.into()));
        }
        WellKnown::SchemaOrBool => match json {
            Value::Bool(allows) => set("allows", Proto::Bool(*allows)),
            schema => {
                set("allows", Proto::Bool(true));
                set("schema", field_value(&field("schema")?, schema)?);
            }
        },
        WellKnown::SchemaOrArray | WellKnown::SchemaOrStringArray => {
            let list = match kind {
                WellKnown::SchemaOrArray => "jSONSchemas",
                _ => "property",
            };
            let name = if json.is_array() { list } else { "schema" };
            set(name, field_value(&field(name)?, json)?);
        }
    }
    Ok(message)
}
