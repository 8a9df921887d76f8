//! Decoding of built-in types, as Go decodes a request body to a typed object.
//!
//! Unknown fields are dropped and reported, values of the wrong type are rejected with Go's error
//! messages, and the result has the form of the server's responses: unset fields that Go always
//! encodes are added, empty ones that it omits are removed, quantities and times are canonical.

mod path;
#[cfg(test)]
mod tests;
mod zero_values;

use serde_json::{Map, Value};

use super::scalar::{self, ScalarError, json_kind};
use super::strict_json::MAX_STRICT_ERRORS;
use super::{AnyType, ListSchema, MapSchema, Presence, Schema, StructSchema, ValueType};
use kueue_lab_field::FieldError;
use path::Path;
pub use zero_values::zero;
use zero_values::{empty_collection, fill, omitted};

/// The source of an object, which determines the conversion and the errors of values of the wrong
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeSource {
    /// A JSON body.
    Json,
    /// An unstructured object, such as the result of a strategic merge patch or server-side apply.
    Unstructured,
}

/// A value of the wrong type, with the message of Go's decoder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The parser of the type rejects a text; its message.
    #[error("{0}")]
    Parse(String),
    /// A value that is not the field of a struct.
    #[error("json: cannot unmarshal {found} into Go value of type {wanted}")]
    Value {
        /// The kind of the value.
        found: String,
        /// The Go type.
        wanted: String,
    },
    /// A field of a struct.
    #[error("json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")]
    Field {
        /// The kind of the value.
        found: String,
        /// The struct and the field.
        field: String,
        /// The Go type.
        wanted: String,
    },
    /// An unstructured value where a struct is expected; its kind.
    #[error("cannot restore struct from: {0}")]
    RestoreStruct(String),
    /// An unstructured value where a list is expected; its kind.
    #[error("cannot restore slice from {0}")]
    RestoreSlice(String),
    /// An unstructured value where a map is expected; its kind.
    #[error("cannot restore map from {0}")]
    RestoreMap(String),
    /// An unstructured number of another type.
    #[error("cannot convert {from} to {to}")]
    Convert {
        /// The type of the number.
        from: &'static str,
        /// The Go type.
        to: String,
    },
    /// An unstructured value where this kind of Go value is expected.
    #[error("unrecognized type: {0}")]
    Unrecognized(String),
    /// The metadata of an embedded resource.
    #[error("{0}")]
    Embedded(FieldError),
}

/// Decodes `value` in place to the form in which objects of this type are stored and returned.
/// Returns the paths of unknown fields, sorted. Custom resources are pruned; the caller sets their
/// defaults.
///
/// # Errors
/// The first value of the wrong type.
pub fn decode(
    schema: &Schema,
    value: &mut Value,
    source: DecodeSource,
) -> Result<Vec<String>, DecodeError> {
    if schema.is_custom() {
        return super::prune::decode_custom_resource(schema, value);
    }
    decode_at(schema, value, source, "")
}

/// Decodes a JSON object to a Go struct and encodes it again, in place: unknown fields are dropped,
/// fields of the type that are unset are added or omitted as their tags say, quantities and times
/// are canonical. Unlike stored objects of [`decode`], an empty list or map that is not omitted
/// stays one.
///
/// # Errors
/// The first value of the wrong type.
pub fn reencode(schema: &Schema, value: &mut Value) -> Result<(), DecodeError> {
    let mut work = Decoder {
        keeps_empty: true,
        ..Decoder::new(DecodeSource::Json)
    };
    work.value(schema, value, &Path::Root, "");
    work.error.map_or(Ok(()), Err)
}

/// As [`decode`] for the value at `path`, which is the prefix of the paths of unknown fields.
pub(super) fn decode_at(
    schema: &Schema,
    value: &mut Value,
    source: DecodeSource,
    path: &str,
) -> Result<Vec<String>, DecodeError> {
    let mut work = Decoder::new(source);
    work.value(schema, value, &Path::Root, "");
    if let Some(error) = work.error {
        return Err(error);
    }
    if !path.is_empty() {
        work.unknown
            .iter_mut()
            .for_each(|field| *field = format!("{path}.{field}"));
    }
    work.unknown.sort();
    Ok(work.unknown)
}

struct Decoder {
    source: DecodeSource,
    unknown: Vec<String>,
    error: Option<DecodeError>,
    /// Inside a type with a custom decoder, which hides unknown fields from the strict decoder.
    in_hidden_schema: bool,
    /// Whether empty lists and maps differ from unset ones.
    keeps_empty: bool,
}

impl Decoder {
    fn new(source: DecodeSource) -> Self {
        Self {
            source,
            unknown: Vec::new(),
            error: None,
            in_hidden_schema: false,
            keeps_empty: false,
        }
    }

    /// Decodes one value; `holder` is the Go struct that contains the field.
    fn value(&mut self, schema: &Schema, value: &mut Value, path: &Path<'_>, holder: &str) {
        match (&schema.value_type, &mut *value) {
            (_, Value::Null) => *value = null(schema),
            (ValueType::Struct(s), Value::Object(map)) => self.fields(schema, s, map, path),
            (ValueType::List(l), Value::Array(items)) => self.items(l, items, path, holder),
            (ValueType::Map(m), Value::Object(map)) => self.entries(m, map, path, holder),
            (ValueType::Any(AnyType::HiddenSchema), v) => self.hidden(v, path, holder),
            (ValueType::Any(_), _) => {}
            (ValueType::Struct(_) | ValueType::List(_) | ValueType::Map(_), v) => {
                let kind = json_kind(v);
                self.reject(schema, ScalarError::Type(kind.into(), None), path, holder);
            }
            (value_type, v) => {
                let lenient = self.source == DecodeSource::Unstructured;
                if let Err(mismatch) = scalar::normalize_scalar(value_type, v, lenient) {
                    self.reject(schema, mismatch, path, holder);
                }
            }
        }
    }

    fn fields(
        &mut self,
        schema: &Schema,
        value_type: &StructSchema,
        map: &mut Map<String, Value>,
        path: &Path<'_>,
    ) {
        let holder = schema.name.rsplit('.').next().unwrap_or_default();
        map.retain(|name, value| {
            let here = Path::Field(path, name);
            match value_type.field(name) {
                Some(field) => {
                    if field.pointer && value.is_null() {
                        return field.presence == Presence::Always;
                    }
                    self.value(&field.schema, value, &here, holder);
                    let is_unset = !self.keeps_empty && empty_collection(value);
                    if field.presence == Presence::Always && is_unset {
                        *value = null(&field.schema); // stored empty equals unset
                    }
                    !omitted(field, value)
                }
                None => {
                    if !self.in_hidden_schema && self.unknown.len() < MAX_STRICT_ERRORS {
                        self.unknown.push(here.to_string());
                    }
                    false
                }
            }
        });
        fill(value_type, map);
    }

    fn items(&mut self, list: &ListSchema, items: &mut [Value], path: &Path<'_>, holder: &str) {
        for (i, item) in items.iter_mut().enumerate() {
            self.value(&list.item, item, &Path::Index(path, i), holder);
        }
    }

    fn entries(
        &mut self,
        map: &MapSchema,
        entries: &mut Map<String, Value>,
        path: &Path<'_>,
        holder: &str,
    ) {
        for (key, value) in entries.iter_mut() {
            self.value(&map.value, value, &Path::Key(path, key), holder);
        }
    }

    /// `JSONSchemaPropsOr...`: a schema or a list of schemas.
    fn hidden(&mut self, value: &mut Value, path: &Path<'_>, holder: &str) {
        let Some(schema) = super::find_named_type("apiextensions.v1.JSONSchemaProps") else {
            return;
        };
        let before = std::mem::replace(&mut self.in_hidden_schema, true);
        match value {
            Value::Object(_) => self.value(&schema, value, path, holder),
            Value::Array(items) => {
                for item in items.iter_mut().filter(|i| i.is_object()) {
                    self.value(&schema, item, path, holder);
                }
            }
            _ => {}
        }
        self.in_hidden_schema = before;
    }

    fn reject(&mut self, schema: &Schema, mismatch: ScalarError, path: &Path<'_>, holder: &str) {
        if self.error.is_some() {
            return;
        }
        let error = match mismatch {
            ScalarError::Parse(text) => DecodeError::Parse(text),
            ScalarError::Type(found, instead) if self.source == DecodeSource::Json => {
                let wanted = instead.map_or_else(|| schema.go_name(), Into::into);
                let fields = path.fields();
                if fields.is_empty() {
                    DecodeError::Value { found, wanted }
                } else {
                    let field = format!("{holder}.{fields}");
                    DecodeError::Field {
                        found,
                        field,
                        wanted,
                    }
                }
            }
            ScalarError::Type(found, instead) => unstructured_error(schema, &found, instead),
        };
        self.error = Some(error);
    }
}

/// The error of the conversion from unstructured for a value of the wrong type.
fn unstructured_error(schema: &Schema, found: &str, instead: Option<&str>) -> DecodeError {
    let kind = match found {
        "array" => "slice",
        "object" => "map",
        f if f.starts_with("number") && f.contains('.') => "float64",
        f if f.starts_with("number") => "int64",
        f => f,
    };
    match (&schema.value_type, instead) {
        (_, Some(wanted)) => DecodeError::Value {
            found: found.to_owned(),
            wanted: wanted.to_owned(),
        },
        (ValueType::Struct(_), _) => DecodeError::RestoreStruct(kind.to_owned()),
        (ValueType::List(_) | ValueType::Bytes, _) => DecodeError::RestoreSlice(kind.to_owned()),
        (ValueType::Map(_), _) => DecodeError::RestoreMap(kind.to_owned()),
        (ValueType::String { .. }, _) if kind == "int64" => DecodeError::Convert {
            from: "int64",
            to: schema.go_name(),
        },
        (ValueType::Int(_) | ValueType::Float, _) if kind == "float64" => DecodeError::Convert {
            from: "float64",
            to: schema.go_name(),
        },
        _ => DecodeError::Unrecognized(schema.go_kind().to_string()),
    }
}

/// The decoded value of null.
fn null(schema: &Schema) -> Value {
    match &schema.value_type {
        ValueType::List(_) | ValueType::Map(_) => Value::Null,
        _ => zero(schema),
    }
}
