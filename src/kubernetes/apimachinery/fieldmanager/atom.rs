//! The granularity of ownership of a value: atomic, by field, or by item (`schema.Atom`).

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::schema::{AnyType, ListSchema, ListType, MapSchema, Schema, StructSchema, ValueType};

/// The schema of unknown fields.
static ANY: LazyLock<Schema> = LazyLock::new(|| Schema::of(ValueType::Any(AnyType::Granular)));

/// The granularity of ownership of a type.
pub(super) enum Atom<'s> {
    /// Atomic.
    Leaf,
    /// Associative list: by item.
    Items(&'s ListSchema),
    /// Map or struct: by field.
    Fields(Fields<'s>),
}

/// The fields of an object type.
#[derive(Clone, Copy)]
pub(super) enum Fields<'s> {
    /// Declared fields; unknown fields if the schema allows them.
    Struct(&'s StructSchema),
    /// Arbitrary keys.
    Map(&'s MapSchema),
    /// Arbitrary keys of a value without a type.
    Any,
}

impl<'s> Fields<'s> {
    /// The schema of a field; `None` if the field is unknown and not allowed.
    pub(super) fn schema(self, name: &str) -> Option<&'s Schema> {
        match self {
            Self::Struct(s) => match s.field(name) {
                Some(field) => Some(&field.schema),
                None => s.allows_unknown.then_some(&*ANY),
            },
            Self::Map(m) => Some(&m.value),
            Self::Any => Some(&ANY),
        }
    }

    /// As [`schema`](Self::schema), but a field that is not allowed is a value without a type.
    pub(super) fn schema_or_any(self, name: &str) -> &'s Schema {
        self.schema(name).unwrap_or(&ANY)
    }

    /// Whether the type declares the field.
    pub(super) fn declares(self, name: &str) -> bool {
        matches!(self, Self::Struct(s) if s.field(name).is_some())
    }
}

/// The granularity of this type; it depends on the value for types that allow several.
pub(super) fn atom<'s>(schema: &'s Schema, value: Option<&Value>) -> Atom<'s> {
    match &schema.value_type {
        ValueType::Struct(s) if s.atomic != Some(true) => Atom::Fields(Fields::Struct(s)),
        ValueType::Map(m) if m.atomic != Some(true) => Atom::Fields(Fields::Map(m)),
        ValueType::List(l) if l.list_type != ListType::Atomic => Atom::Items(l),
        ValueType::Any(AnyType::Granular | AnyType::HiddenSchema)
            if matches!(value, Some(Value::Object(_))) =>
        {
            Atom::Fields(Fields::Any)
        }
        _ => Atom::Leaf,
    }
}

/// The value as an object; `None` for null and other types.
pub(super) fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// Equality of values in which `1` equals `1.0`.
pub(super) fn values_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| values_equal(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .zip(y)
                    .all(|((kx, vx), (ky, vy))| kx == ky && values_equal(vx, vy))
        }
        _ => a == b,
    }
}
