//! Types of values.

use std::sync::Arc;

use super::field::Field;
use super::structural_schema::Name;
use super::type_ref::TypeRef;

/// The shape of a value.
#[derive(Clone, Debug)]
pub enum ValueType {
    /// Anything.
    Any(AnyType),
    /// A JSON boolean.
    Bool,
    /// A whole number of the given Go type: `int32`, `int64`, `uint16` ...
    Int(&'static str),
    /// Any number.
    Float,
    /// A string; `enumeration` lists the values of a built-in enum as JSON for OpenAPI, or is empty.
    String {
        /// JSON array of the allowed values of a built-in `+enum` type, for OpenAPI only.
        enumeration: &'static str,
    },
    /// Base64 text.
    Bytes,
    /// A number or a string.
    IntOrString,
    /// A resource quantity.
    Quantity,
    /// RFC 3339 time with seconds.
    Time,
    /// RFC 3339 time with microseconds.
    MicroTime,
    /// A list.
    List(ListSchema),
    /// An object with free keys and values of one type.
    Map(MapSchema),
    /// An object with named fields.
    Struct(StructSchema),
}

/// A value without a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyType {
    /// Owned and applied as one (`runtime.RawExtension`).
    Atomic,
    /// Maps in it are owned key by key, the rest as one.
    Granular,
    /// As `Granular`, in the types `JSONSchemaPropsOrBool`, `...OrArray` and `...OrStringArray`,
    /// which hold schemas but hide them from the strict decoder.
    HiddenSchema,
}

/// How the items of a list are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListType {
    /// The list is one value.
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects told apart by the values of these keys.
    Map(Vec<Name>),
}

/// A list.
#[derive(Clone, Debug)]
pub struct ListSchema {
    /// Schema of each item.
    pub item: TypeRef,
    /// How items are told apart.
    pub list_type: ListType,
    /// Whether the type says so itself (OpenAPI shows `x-kubernetes-list-type` only then).
    pub list_type_declared: bool,
}

/// An object with free keys.
#[derive(Clone, Debug)]
pub struct MapSchema {
    /// Schema of each value.
    pub value: TypeRef,
    /// Whether the map is owned and applied as one; `None` where the type does not say.
    pub atomic: Option<bool>,
}

/// An object with named fields.
#[derive(Clone, Debug)]
pub struct StructSchema {
    /// Fields, sorted by name.
    pub fields: Arc<[Field]>,
    /// Whether the object is owned and applied as one; `None` where the type does not say.
    pub atomic: Option<bool>,
    /// Fields that are not named are kept by pruning (custom resources).
    pub preserve_unknown: bool,
    /// Fields that are not named may be applied: they, or an object around them, are preserved, or
    /// no field is named at all.
    pub allows_unknown: bool,
    /// A whole object with `apiVersion`, `kind` and `metadata` of its own (custom resources).
    pub embedded: bool,
}

impl StructSchema {
    /// The field of that JSON name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|f| (*f.name).cmp(name)).ok()?;
        self.fields.get(at)
    }
}
