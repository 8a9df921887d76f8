//! [`ValueType`]: the type of a value.

use std::sync::Arc;

use super::field::Field;
use super::structural_schema::Name;
use super::type_ref::TypeRef;

/// The type of a value.
#[derive(Clone, Debug)]
pub enum ValueType {
    /// A value without a type.
    Any(AnyType),
    /// A JSON boolean.
    Bool,
    /// An integer of the given Go type: `int32`, `int64`, `uint16` ...
    Int(&'static str),
    /// Any number.
    Float,
    /// A string; `enumeration` lists the values of a built-in enum as JSON for OpenAPI, or is
    /// empty.
    String {
        /// JSON array of the allowed values of a built-in `+enum` type, for OpenAPI only.
        enumeration: &'static str,
    },
    /// Base64 text.
    Bytes,
    /// An integer or a string.
    IntOrString,
    /// A resource quantity.
    Quantity,
    /// RFC 3339 time with seconds.
    Time,
    /// RFC 3339 time with microseconds.
    MicroTime,
    /// A list.
    List(ListSchema),
    /// A map: arbitrary keys, values of one type.
    Map(MapSchema),
    /// An object with named fields.
    Struct(StructSchema),
}

/// A value without a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyType {
    /// Atomic (`runtime.RawExtension`).
    Atomic,
    /// Maps are granular, all other values are atomic.
    Granular,
    /// As `Granular`; for `JSONSchemaPropsOrBool`, `...OrArray` and `...OrStringArray`, whose
    /// custom decoders hide unknown fields from the strict decoder.
    HiddenSchema,
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListType {
    /// The list is replaced as a whole.
    Atomic,
    /// Unique scalars.
    Set,
    /// Objects identified by the values of these keys.
    Map(Vec<Name>),
}

/// A list.
#[derive(Clone, Debug)]
pub struct ListSchema {
    /// Schema of the items.
    pub item: TypeRef,
    /// The list type.
    pub list_type: ListType,
    /// Whether the list type is declared; only then OpenAPI contains `x-kubernetes-list-type`.
    pub list_type_declared: bool,
}

/// A map with arbitrary keys.
#[derive(Clone, Debug)]
pub struct MapSchema {
    /// Schema of the values.
    pub value: TypeRef,
    /// Whether the map is atomic; `None` if not declared (`x-kubernetes-map-type`).
    pub atomic: Option<bool>,
}

/// An object with named fields.
#[derive(Clone, Debug)]
pub struct StructSchema {
    /// Fields, sorted by name.
    pub fields: Arc<[Field]>,
    /// Whether the object is atomic; `None` if not declared (`x-kubernetes-map-type`).
    pub atomic: Option<bool>,
    /// Unknown fields are not pruned (`x-kubernetes-preserve-unknown-fields`; custom resources).
    pub preserve_unknown: bool,
    /// Unknown fields may be applied: this object or an enclosing one preserves them, or it
    /// declares no fields.
    pub allows_unknown: bool,
    /// An embedded resource with its own `apiVersion`, `kind` and `metadata` (custom resources).
    pub embedded: bool,
}

impl StructSchema {
    /// The field with the given JSON name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|f| (*f.name).cmp(name)).ok()?;
        self.fields.get(at)
    }
}
