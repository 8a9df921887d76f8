//! The types of CEL expressions, from the schemas of the values.

use std::sync::Arc;

use serde_json::Value;

use super::authorizer::AuthorizerType;
use crate::cel::value::is_selected_by;
use crate::crd::definition_validation::schema_accessors::{is_set, schema_field, schema_map, text};
use kueue_lab_apimachinery::schema::{Schema, StructSchema, ValueType};

/// The type of an expression.
#[derive(Clone, Debug)]
pub enum Type<'s> {
    /// A dynamic or unknown type.
    Any,
    /// The type of the elements of an empty list or map.
    Unbound,
    /// `bool`.
    Bool,
    /// `int`, 64 bits.
    Int,
    /// `uint`, 64 bits.
    Uint,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// `google.protobuf.Duration`.
    Duration,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// `null_type`.
    Null,
    /// A type of a library, such as `net.IP`.
    Opaque(&'static str),
    /// `optional_type` of a type.
    Optional(Box<Type<'s>>),
    /// `list` of the type of the elements.
    List(Box<Type<'s>>),
    /// The types of keys and values.
    Map(Box<Type<'s>>, Box<Type<'s>>),
    /// An object with its schema; true for a root or embedded resource, which has metadata.
    Object(&'s Value, bool),
    /// An object of a kind.
    Struct(&'s StructSchema),
    /// The metadata of a root or embedded resource.
    ObjectMeta,
    /// An object with these fields, which many expressions share.
    Fields(Arc<Vec<(String, Type<'s>)>>),
    /// The type of an object literal such as `Object.spec{}`.
    Named(String),
    /// `authorizer`, or the result of one of its functions.
    Authorizer(AuthorizerType),
    /// Any other type without fields.
    Other,
}

impl PartialEq for Type<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a == b,
            (Self::Map(a, x), Self::Map(b, y)) => a == b && x == y,
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            (Self::Object(a, x), Self::Object(b, y)) => a == b && x == y,
            (Self::Struct(a), Self::Struct(b)) => std::ptr::eq(*a, *b),
            (Self::Fields(a), Self::Fields(b)) => a == b,
            (Self::Named(a), Self::Named(b)) => a == b,
            (Self::Authorizer(a), Self::Authorizer(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl<'s> Type<'s> {
    /// The type of the values of a schema; `None` if CEL rules cannot access them.
    pub(super) fn of(schema: &'s Value, whole: bool) -> Option<Self> {
        if is_set(schema, "x-kubernetes-int-or-string") {
            return Some(Self::Any);
        }
        let inner = |s: &'s Value| Self::of(s, is_set(s, "x-kubernetes-embedded-resource"));
        Some(match text(schema, "type") {
            "boolean" => Self::Bool,
            "integer" => Self::Int,
            "number" => Self::Double,
            "string" => match text(schema, "format") {
                "byte" => Self::Bytes,
                "duration" => Self::Duration,
                "date" | "date-time" => Self::Timestamp,
                _ => Self::String,
            },
            "array" => Self::List(Box::new(inner(schema_field(schema, "items")?)?)),
            "object" => match schema_field(schema, "additionalProperties") {
                Some(values) => Self::map(inner(values)?),
                None => Self::Object(schema, whole),
            },
            _ => return None,
        })
    }

    /// A map with strings as keys.
    pub fn map(values: Self) -> Self {
        Self::Map(Box::new(Self::String), Box::new(values))
    }

    /// The type of the values of a kind's schema.
    pub fn of_schema(schema: &'s Schema) -> Self {
        let format = schema.value_validation.as_ref();
        let format = format.map_or("", |v| v.format.as_str());
        match &schema.value_type {
            ValueType::Bool => Self::Bool,
            ValueType::Int(_) => Self::Int,
            ValueType::Float => Self::Double,
            ValueType::String { .. } => match format {
                "byte" => Self::Bytes,
                "duration" => Self::Duration,
                "date" | "date-time" => Self::Timestamp,
                _ => Self::String,
            },
            ValueType::Bytes => Self::Bytes,
            ValueType::Time | ValueType::MicroTime => Self::Timestamp,
            ValueType::List(list) => Self::List(Box::new(Self::of_schema(&list.item))),
            ValueType::Map(map) => Self::map(Self::of_schema(&map.value)),
            ValueType::Struct(fields) if !fields.preserve_unknown && !fields.fields.is_empty() => {
                Self::Struct(fields)
            }
            _ => Self::Any,
        }
    }

    /// Whether this type is assignable to `wanted`.
    pub fn is_assignable_to(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Any, _) => true,
            (Self::List(item), Self::List(wanted)) => item.is_assignable_to(wanted),
            _ => self == wanted,
        }
    }

    /// The name of the type as CEL formats it.
    pub fn name(&self) -> String {
        match self {
            Self::Bool => "bool".into(),
            Self::Int => "int".into(),
            Self::Uint => "uint".into(),
            Self::Double => "double".into(),
            Self::String => "string".into(),
            Self::Bytes => "bytes".into(),
            Self::Duration => "duration".into(),
            Self::Timestamp => "timestamp".into(),
            Self::Opaque(name) => (*name).into(),
            Self::Optional(value) => format!("optional_type({})", value.name()),
            Self::Null => "null".into(),
            Self::Object(..) | Self::Struct(_) | Self::ObjectMeta => "object".into(),
            Self::List(item) => format!("list({})", item.name()),
            Self::Map(key, value) => format!("map({}, {})", key.name(), value.name()),
            Self::Named(name) => name.clone(),
            Self::Authorizer(of) => of.name().into(),
            _ => "dyn".into(),
        }
    }

    /// The type of a field; `None` if it is undefined.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        match self {
            Self::Any => Some(Self::Any),
            Self::Map(_, value) => Some((**value).clone()),
            Self::Fields(fields) => {
                let (_, found) = fields.iter().find(|(own, _)| own == name)?;
                Some(found.clone())
            }
            Self::Struct(value_type) => {
                let mut fields = value_type.fields.iter();
                let field = fields.find(|f| is_selected_by(&f.name, name))?;
                Some(Self::of_schema(&field.schema))
            }
            Self::Authorizer(AuthorizerType::Authorizer) if name == "requestResource" => {
                Some(Self::Authorizer(AuthorizerType::ResourceCheck))
            }
            Self::ObjectMeta => matches!(name, "name" | "generateName").then_some(Self::String),
            Self::Object(_, true) if matches!(name, "apiVersion" | "kind") => Some(Self::String),
            Self::Object(_, true) if name == "metadata" => Some(Self::ObjectMeta),
            Self::Object(schema, _) => {
                let mut fields = schema_map(schema, "properties");
                let (_, field) = fields.find(|(own, _)| is_selected_by(own, name))?;
                Self::of(field, is_set(field, "x-kubernetes-embedded-resource"))
            }
            _ => None,
        }
    }
}
