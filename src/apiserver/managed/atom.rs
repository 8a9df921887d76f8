//! How a value is owned: as one, field by field, or item by item.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::schema::{AnyShape, ListKind, ListShape, MapShape, Schema, Shape, StructShape};

/// The schema of what no schema names.
static ANY: LazyLock<Schema> = LazyLock::new(|| Schema::of(Shape::Any(AnyShape::Granular)));

/// How values of a type are owned.
pub(super) enum Atom<'s> {
    /// As one.
    Leaf,
    /// Item by item.
    Items(&'s ListShape),
    /// Field by field.
    Fields(Fields<'s>),
}

/// The fields of an object type.
#[derive(Clone, Copy)]
pub(super) enum Fields<'s> {
    /// Named fields, and perhaps others.
    Struct(&'s StructShape),
    /// Free keys.
    Map(&'s MapShape),
    /// Free keys in a value without type.
    Any,
}

impl<'s> Fields<'s> {
    /// The schema of a field; `None` for one that may not be there.
    pub(super) fn schema(self, name: &str) -> Option<&'s Schema> {
        match self {
            Self::Struct(s) => match s.field(name) {
                Some(field) => Some(&field.schema),
                None => s.open.then_some(&*ANY),
            },
            Self::Map(m) => Some(&m.value),
            Self::Any => Some(&ANY),
        }
    }

    /// As [`Fields::schema`], taking what may not be there as a value without type.
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
    match &schema.shape {
        Shape::Struct(s) if s.atomic != Some(true) => Atom::Fields(Fields::Struct(s)),
        Shape::Map(m) if m.atomic != Some(true) => Atom::Fields(Fields::Map(m)),
        Shape::List(l) if l.kind != ListKind::Atomic => Atom::Items(l),
        Shape::Any(AnyShape::Granular | AnyShape::HiddenSchema)
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
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .zip(y)
                    .all(|((kx, vx), (ky, vy))| kx == ky && same(vx, vy))
        }
        _ => a == b,
    }
}
