//! Decoding of built-in types: what Go does between a request body and an object.
//!
//! Unknown fields are dropped and named, values of the wrong type refused with Go's words, and the
//! rest brought into the form the server answers: unset fields that Go always writes appear, empty
//! ones it omits disappear, quantities and times are canonical.

mod path;
#[cfg(test)]
mod tests;
mod unset;

use serde_json::{Map, Value};

use super::json::MAX_STRICT_ERRORS;
use super::scalar::{self, Misfit, json_kind};
use super::{AnyShape, ListShape, MapShape, Presence, Schema, Shape, StructShape};
use path::Path;
pub use unset::zero;
use unset::{empty_collection, fill, omitted};

/// Where an object comes from; decides the rules and words for values of the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A JSON body.
    Json,
    /// An object that was merged in memory, as strategic merge patch and server-side apply do.
    Unstructured,
}

/// Decodes `value` in place into the form in which objects of this type are stored and answered.
/// Returns the paths of unknown fields, sorted. Custom resources are pruned; their defaults are the
/// caller's.
///
/// # Errors
/// The decoder's text for the first value of the wrong type.
pub fn decode(schema: &Schema, value: &mut Value, source: Source) -> Result<Vec<String>, String> {
    if schema.is_custom() {
        return super::custom::decode(schema, value);
    }
    decode_at(schema, value, source, "")
}

/// As [`decode`] for a value that stands at `path`, which only the unknown fields speak of.
pub(super) fn decode_at(
    schema: &Schema,
    value: &mut Value,
    source: Source,
    path: &str,
) -> Result<Vec<String>, String> {
    let mut work = Work {
        source,
        unknown: Vec::new(),
        error: None,
        quiet: false,
    };
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

struct Work {
    source: Source,
    unknown: Vec<String>,
    error: Option<String>,
    /// Inside a type that hides its fields from the strict decoder.
    quiet: bool,
}

impl Work {
    /// Settles one value; `holder` is the struct whose field is being decoded.
    fn value(&mut self, schema: &Schema, value: &mut Value, path: &Path<'_>, holder: &str) {
        match (&schema.shape, &mut *value) {
            (_, Value::Null) => *value = null(schema),
            (Shape::Struct(s), Value::Object(map)) => self.fields(schema, s, map, path),
            (Shape::List(l), Value::Array(items)) => self.items(l, items, path, holder),
            (Shape::Map(m), Value::Object(map)) => self.entries(m, map, path, holder),
            (Shape::Any(AnyShape::HiddenSchema), v) => self.hidden(v, path, holder),
            (Shape::Any(_), _) => {}
            (Shape::Struct(_) | Shape::List(_) | Shape::Map(_), v) => {
                let kind = json_kind(v);
                self.refuse(schema, Misfit::Type(kind.into(), None), path, holder);
            }
            (shape, v) => {
                let lenient = self.source == Source::Unstructured;
                if let Err(misfit) = scalar::settle(shape, v, lenient) {
                    self.refuse(schema, misfit, path, holder);
                }
            }
        }
    }

    fn fields(
        &mut self,
        schema: &Schema,
        shape: &StructShape,
        map: &mut Map<String, Value>,
        path: &Path<'_>,
    ) {
        let holder = schema.name.rsplit('.').next().unwrap_or_default();
        map.retain(|name, value| {
            let here = Path::Field(path, name);
            match shape.field(name) {
                Some(field) => {
                    if field.pointer && value.is_null() {
                        return field.presence == Presence::Always;
                    }
                    self.value(&field.schema, value, &here, holder);
                    if field.presence == Presence::Always && empty_collection(value) {
                        *value = null(&field.schema); // storage does not tell empty from unset
                    }
                    !omitted(field, value)
                }
                None => {
                    if !self.quiet && self.unknown.len() < MAX_STRICT_ERRORS {
                        self.unknown.push(here.to_string());
                    }
                    false
                }
            }
        });
        fill(shape, map);
    }

    fn items(&mut self, list: &ListShape, items: &mut [Value], path: &Path<'_>, holder: &str) {
        for (i, item) in items.iter_mut().enumerate() {
            self.value(&list.item, item, &Path::Index(path, i), holder);
        }
    }

    fn entries(
        &mut self,
        map: &MapShape,
        entries: &mut Map<String, Value>,
        path: &Path<'_>,
        holder: &str,
    ) {
        for (key, value) in entries.iter_mut() {
            self.value(&map.value, value, &Path::Key(path, key), holder);
        }
    }

    /// `JSONSchemaPropsOr...`: a schema, or a list of them, in a type of its own.
    fn hidden(&mut self, value: &mut Value, path: &Path<'_>, holder: &str) {
        let Some(schema) = super::named("apiextensions.v1.JSONSchemaProps") else {
            return;
        };
        let before = std::mem::replace(&mut self.quiet, true);
        match value {
            Value::Object(_) => self.value(&schema, value, path, holder),
            Value::Array(items) => {
                for item in items.iter_mut().filter(|i| i.is_object()) {
                    self.value(&schema, item, path, holder);
                }
            }
            _ => {}
        }
        self.quiet = before;
    }

    fn refuse(&mut self, schema: &Schema, misfit: Misfit, path: &Path<'_>, holder: &str) {
        if self.error.is_some() {
            return;
        }
        let text = match misfit {
            Misfit::Parse(text) => text,
            Misfit::Type(found, instead) if self.source == Source::Json => {
                let wanted = instead.map_or_else(|| schema.go_name(), Into::into);
                let fields = path.fields();
                if fields.is_empty() {
                    format!("json: cannot unmarshal {found} into Go value of type {wanted}")
                } else {
                    format!(
                        "json: cannot unmarshal {found} into Go struct field {holder}.{fields} \
                         of type {wanted}"
                    )
                }
            }
            Misfit::Type(found, instead) => unstructured_text(schema, &found, instead),
        };
        self.error = Some(text);
    }
}

/// What conversion from an unstructured object says of a value of the wrong type.
fn unstructured_text(schema: &Schema, found: &str, instead: Option<&str>) -> String {
    let kind = match found {
        "array" => "slice",
        "object" => "map",
        f if f.starts_with("number") && f.contains('.') => "float64",
        f if f.starts_with("number") => "int64",
        f => f,
    };
    match (&schema.shape, instead) {
        (_, Some(wanted)) => {
            format!("json: cannot unmarshal {found} into Go value of type {wanted}")
        }
        (Shape::Struct(_), _) => format!("cannot restore struct from: {kind}"),
        (Shape::List(_) | Shape::Bytes, _) => format!("cannot restore slice from {kind}"),
        (Shape::Map(_), _) => format!("cannot restore map from {kind}"),
        (Shape::String { .. }, _) if kind == "int64" => {
            format!("cannot convert int64 to {}", schema.go_name())
        }
        (Shape::Int(_) | Shape::Float, _) if kind == "float64" => {
            format!("cannot convert float64 to {}", schema.go_name())
        }
        _ => format!("unrecognized type: {}", schema.go_kind()),
    }
}

/// What becomes of an explicit null.
fn null(schema: &Schema) -> Value {
    match &schema.shape {
        Shape::List(_) | Shape::Map(_) => Value::Null,
        _ => zero(schema),
    }
}
