//! The CEL type of a schema with the maximum number of elements of its values, and their minimum
//! size as JSON, `k8s.io/apiserver/pkg/cel/common/schemas.go`.

use serde_json::Value;

use super::super::schema_accessors::{is_set, list, schema_field, schema_map, text};
use crate::cel::value::is_selected_by;

/// The maximum size of a request, in bytes.
pub(super) const MAX_REQUEST_SIZE: u64 = 3 * 1024 * 1024;
const MAX_DATETIME: u64 = 32;
const DATE: u64 = 12;

/// The kind of a CEL type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Kind {
    #[default]
    Dyn,
    Bool,
    Number,
    String,
    Bytes,
    Time,
    Null,
    List,
    Map,
    Object,
    Other,
}

impl Kind {
    /// Whether values have a known size.
    pub(super) fn is_scalar(self) -> bool {
        matches!(self, Self::Bool | Self::Number | Self::Time)
    }
}

/// The CEL type of a schema.
#[derive(Clone, Debug, Default)]
pub(super) struct DeclType {
    pub(super) kind: Kind,
    /// The maximum length of a string, list or map; 0 for others.
    pub(super) max_elements: u64,
    /// The minimum size as JSON, in bytes.
    pub(super) min_size: u64,
    /// The items of a list or the values of a map.
    pub(super) element: Option<Box<DeclType>>,
    /// The keys of a map.
    pub(super) key: Option<Box<DeclType>>,
    fields: Vec<(String, DeclType)>,
}

impl DeclType {
    /// The type of a schema; `None` if expressions cannot access its values.
    pub(super) fn of(schema: &Value, is_resource_root: bool) -> Option<Self> {
        if is_set(schema, "x-kubernetes-int-or-string") {
            let max = max_length(schema).unwrap_or(MAX_REQUEST_SIZE - 2);
            return Some(Self::simple(Kind::Dyn, max, 1));
        }
        let inner = |s: &Value| Self::of(s, is_set(s, "x-kubernetes-embedded-resource"));
        match text(schema, "type") {
            "array" => {
                let item = inner(schema_field(schema, "items")?)?;
                let max = bound(schema, "maxItems")
                    .unwrap_or((MAX_REQUEST_SIZE - 2) / (item.min_size + 1));
                Some(Self {
                    element: Some(Box::new(item)),
                    ..Self::simple(Kind::List, max, 2)
                })
            }
            "object" => match schema_field(schema, "additionalProperties") {
                Some(values) => {
                    let value = inner(values)?;
                    let max = bound(schema, "maxProperties")
                        .unwrap_or((MAX_REQUEST_SIZE - 2) / (value.min_size + 6));
                    Some(Self {
                        element: Some(Box::new(value)),
                        key: Some(Box::new(Self::simple(Kind::String, 0, 2))),
                        ..Self::simple(Kind::Map, max, 2)
                    })
                }
                None => Some(Self::object(schema, is_resource_root)),
            },
            "string" => Some(Self::string(schema)),
            "boolean" => Some(Self::simple(Kind::Bool, 0, 4)),
            "number" | "integer" => Some(Self::simple(Kind::Number, 0, 1)),
            _ => None,
        }
    }

    /// The type of a field by its name or escaped name.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        let mut fields = self.fields.iter();
        fields
            .find(|(own, _)| is_selected_by(own, name))
            .map(|(_, field)| field)
    }

    /// The type of a property by its name in the schema.
    pub(super) fn property(&self, name: &str) -> Option<&Self> {
        let mut fields = self.fields.iter();
        fields.find(|(own, _)| own == name).map(|(_, field)| field)
    }

    fn simple(kind: Kind, max_elements: u64, min_size: u64) -> Self {
        Self {
            kind,
            max_elements,
            min_size,
            ..Self::default()
        }
    }

    fn string(schema: &Value) -> Self {
        match text(schema, "format") {
            "byte" => {
                let max = bound(schema, "maxLength").unwrap_or(MAX_REQUEST_SIZE - 2);
                Self::simple(Kind::Bytes, max, 2)
            }
            "duration" => Self::simple(Kind::Time, MAX_DATETIME, 3),
            "date" => Self::simple(Kind::Time, DATE, DATE),
            "date-time" => Self::simple(Kind::Time, MAX_DATETIME, 21),
            _ => {
                let names = list(schema, "enum").iter().filter_map(Value::as_str);
                let longest = names.map(|name| name.len() as u64).max();
                let max = max_length(schema)
                    .or(longest)
                    .unwrap_or(MAX_REQUEST_SIZE - 2);
                Self::simple(Kind::String, max, 2)
            }
        }
    }

    fn object(schema: &Value, is_resource_root: bool) -> Self {
        let mut object = Self::simple(Kind::Object, 0, 2);
        let required = list(schema, "required");
        for (name, field) in schema_map(schema, "properties") {
            let is_type_meta = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
            if is_resource_root && is_type_meta {
                continue;
            }
            let embedded = is_set(field, "x-kubernetes-embedded-resource");
            let Some(decl) = Self::of(field, embedded) else {
                continue;
            };
            object.add_field(name, decl, field, required);
        }
        if is_resource_root {
            let string = || Self::simple(Kind::String, MAX_REQUEST_SIZE - 2, 2);
            let mut metadata = Self::simple(Kind::Object, 0, 2);
            for name in ["name", "generateName"] {
                metadata.fields.push((name.into(), string()));
            }
            let own = [
                ("apiVersion", string()),
                ("kind", string()),
                ("metadata", metadata),
            ];
            for (name, decl) in own {
                object.add_field(name, decl, &Value::Null, required);
            }
        }
        object
    }

    fn add_field(&mut self, name: &str, decl: Self, schema: &Value, required: &[Value]) {
        let has_default = schema.get("default").is_some_and(|d| !d.is_null());
        if required.iter().any(|r| r == name) && !has_default {
            self.min_size += name.len() as u64 + decl.min_size + 4;
        }
        self.fields.push((name.into(), decl));
    }
}

/// A limit of the schema; negative ones are zero.
pub(super) fn bound(schema: &Value, field: &str) -> Option<u64> {
    let limit = schema.get(field)?.as_i64()?;
    Some(u64::try_from(limit).unwrap_or_default())
}

/// `maxLength` in bytes: a character has up to four.
fn max_length(schema: &Value) -> Option<u64> {
    bound(schema, "maxLength").map(|max| max.saturating_mul(4))
}
