//! How a value is owned: as one, field by field, or item by item.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::schema::{AnyType, ListSchema, ListType, MapSchema, Schema, StructSchema, ValueType};

/// The schema of what no schema names.
static ANY: LazyLock<Schema> = LazyLock::new(|| Schema::of(ValueType::Any(AnyType::Granular)));

/// How values of a type are owned.
pub(super) enum Atom<'s> {
    /// As one.
    Leaf,
    /// Item by item.
    Items(&'s ListSchema),
    /// Field by field.
    Fields(Fields<'s>),
}

/// The fields of an object type.
#[derive(Clone, Copy)]
pub(super) enum Fields<'s> {
    /// Named fields, and perhaps others.
    Struct(&'s StructSchema),
    /// Free keys.
    Map(&'s MapSchema),
    /// Free keys in a value without type.
    Any,
}

impl<'s> Fields<'s> {
    /// The schema of a field; `None` for one that may not be there.
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

    /// As [`SelectableFields::schema`], taking what may not be there as a value without type.
    pub(super) fn schema_or_any(self, name: &str) -> &'s Schema {
        self.schema(name).unwrap_or(&ANY)
    }

    /// Whether the type names the field.
    pub(super) fn declares(self, name: &str) -> bool {
        matches!(self, Self::Struct(s) if s.field(name).is_some())
    }
}

/// How a value of this type is owned; types that admit several shapes decide by the value.
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

/// The object in a value; null and other types have none.
pub(super) fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// Equality that takes `1` and `1.0` for the same.
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
