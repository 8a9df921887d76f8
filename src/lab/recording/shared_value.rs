//! [`SharedValue`]: a JSON value whose parts are shared between versions of an object.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Number, Value};

/// An immutable JSON value. A copy is a pointer; versions of an object share the parts that are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedValue {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(Arc<str>),
    /// An array.
    Array(Arc<[SharedValue]>),
    /// The fields of an object, sorted by name.
    Object(Arc<[(Arc<str>, SharedValue)]>),
}

/// The size of the header of an `Arc`, in bytes.
const ARC: usize = 16;

impl SharedValue {
    /// A field of an object, or an item of an array by its index; `None` if there is none.
    pub fn get(&self, field: &str) -> Option<&SharedValue> {
        match self {
            Self::Object(fields) => {
                let at = fields.binary_search_by(|(name, _)| (**name).cmp(field));
                at.ok().map(|at| &fields[at].1)
            }
            Self::Array(items) => items.get(field.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The value at a JSON pointer without escapes, such as `/metadata/name`.
    pub fn at(&self, pointer: &str) -> Option<&SharedValue> {
        let mut fields = pointer.split('/').skip(1);
        fields.try_fold(self, |value, field| value.get(field))
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The string at a pointer; empty if there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer)
            .and_then(SharedValue::as_str)
            .unwrap_or_default()
    }

    /// The items of an array; empty for other values.
    pub fn items(&self) -> &[SharedValue] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// The value as serde_json has it.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.to_string()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Self::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (name.to_string(), value.to_json()));
                Value::Object(fields.collect::<Map<String, Value>>())
            }
        }
    }

    /// The memory of this value without that of its children, in bytes.
    pub(crate) fn own_bytes(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
            Self::String(text) => ARC + text.len(),
            Self::Array(items) => ARC + size_of_val::<[SharedValue]>(items),
            Self::Object(fields) => ARC + size_of_val::<[(Arc<str>, SharedValue)]>(fields),
        }
    }

    /// The memory of this value, in bytes, as if it shared nothing.
    pub(crate) fn total_bytes(&self) -> usize {
        let children: usize = match self {
            Self::Array(items) => items.iter().map(Self::total_bytes).sum(),
            Self::Object(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(name, value)| ARC + name.len() + value.total_bytes())
                    .sum()
            }
            _ => 0,
        };
        self.own_bytes() + children
    }
}

impl From<&Value> for SharedValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::String(text.as_str().into()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let fields = fields.iter();
                let mut fields: Vec<(Arc<str>, Self)> = fields
                    .map(|(name, value)| (name.as_str().into(), Self::from(value)))
                    .collect();
                fields.sort_by(|(a, _), (b, _)| a.cmp(b));
                Self::Object(fields.into())
            }
        }
    }
}

impl Serialize for SharedValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut array = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|v| array.serialize_element(v))?;
                array.end()
            }
            Self::Object(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                fields
                    .iter()
                    .try_for_each(|(name, value)| object.serialize_entry(&**name, value))?;
                object.end()
            }
        }
    }
}
