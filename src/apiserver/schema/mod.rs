//! Structural schemas: one compact form for built-in kinds and for custom resources, on which
//! decoding, pruning, defaulting, patching, ownership of fields and OpenAPI all work.
//!
//! Built-in types come from the tables in `types/` (see [`printer`]); custom resources are converted
//! by `crd`. Knows nothing of storage, HTTP or particular kinds.

pub mod builtin_types;
pub mod decode;
pub mod go_format;
mod json_error;
pub mod prune;
mod scalar;
pub mod strict_json;
pub mod time;
mod value_validation;

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

pub use builtin_types::{builtin_schema, find_named_type};
pub use value_validation::{ValidationRule, ValueValidation};

/// A field or type name: borrowed from the built-in tables, owned for custom resources.
pub type Name = Cow<'static, str>;

/// The structural schema of one value.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Go's name of the type in error texts, such as `v1.Protocol`; empty for unnamed types and in
    /// custom resources.
    pub name: Name,
    /// What the value looks like.
    pub value_type: ValueType,
    /// Whether an explicit null is a value of its own (custom resources only).
    pub nullable: bool,
    /// Value validations of a custom resource; `None` for built-in types.
    pub value_validation: Option<Box<ValueValidation>>,
    /// Whether this schema or one below it has rules in CEL.
    pub has_validations: bool,
}

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

/// What a strategic merge patch does with a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// `merge_patch`: items are merged instead of the list being replaced.
    pub merge: bool,
    /// `replace`: the value is replaced although it is a map.
    pub replace: bool,
    /// `retainKeys`: a patch may name the keys that stay.
    pub retain_keys: bool,
    /// The key items are merged by; `None` for lists of scalars.
    pub key: Option<&'static str>,
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

/// When Go writes a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Always, with its zero value when unset.
    #[default]
    Always,
    /// `omitempty`: not when it is empty; a struct is never empty.
    OmitEmpty,
    /// `omitzero`: not when it is the type's zero value.
    OmitZero,
}

/// One field of an object.
#[derive(Clone, Debug)]
pub struct Field {
    /// JSON name.
    pub name: Name,
    /// Schema of the value.
    pub schema: TypeRef,
    /// When Go writes it; `OmitZero` in custom resources.
    pub presence: Presence,
    /// Whether Go holds it by pointer, so that unset and zero differ.
    pub pointer: bool,
    /// The value of an unset field: of a custom resource by its schema, of a built-in type only
    /// where the item keys of a list need it.
    pub default: Option<Value>,
    /// Strategic merge patch directives of the type.
    pub patch: PatchStrategy,
    /// Position in Go's declaration, which is the order of encoding.
    pub order: u16,
}

/// A reference to a schema; those of built-in types are built when first looked at.
#[derive(Clone)]
pub enum TypeRef {
    /// A schema at hand.
    Inlined(Arc<Schema>),
    /// A built-in type.
    Builtin(&'static builtin_types::BuiltinType),
}

impl TypeRef {
    /// The schema as a shared pointer.
    pub fn share(&self) -> Arc<Schema> {
        match self {
            Self::Inlined(schema) => schema.clone(),
            Self::Builtin(entry) => entry.schema().clone(),
        }
    }
}

impl Deref for TypeRef {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        match self {
            Self::Inlined(schema) => schema,
            Self::Builtin(entry) => entry.schema(),
        }
    }
}

impl std::fmt::Debug for TypeRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inlined(schema) => schema.fmt(f),
            Self::Builtin(entry) => write!(f, "{}", entry.table_name()), // types may contain themselves
        }
    }
}

impl StructSchema {
    /// The field of that JSON name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|f| (*f.name).cmp(name)).ok()?;
        self.fields.get(at)
    }
}

impl Schema {
    /// A schema of a shape, without name or rules.
    pub fn of(value_type: ValueType) -> Self {
        Self {
            name: Name::Borrowed(""),
            value_type,
            nullable: false,
            value_validation: None,
            has_validations: false,
        }
    }

    /// Whether this is the schema of a custom resource, or of something in one.
    pub fn is_custom(&self) -> bool {
        self.name.is_empty()
    }

    /// The schema of a direct child: a field of an object, or a value of a map.
    pub fn child(&self, name: &str) -> Option<&Schema> {
        match &self.value_type {
            ValueType::Struct(s) => s.field(name).map(|f| &*f.schema),
            ValueType::Map(m) => Some(&m.value),
            _ => None,
        }
    }

    /// The schema of a list's items.
    pub fn item(&self) -> Option<&Schema> {
        match &self.value_type {
            ValueType::List(l) => Some(&l.item),
            _ => None,
        }
    }

    /// Go's text for the type in error messages, such as `[]v1.Container` or `map[string]string`.
    pub fn go_name(&self) -> String {
        if !self.name.is_empty() {
            return self.name.to_string();
        }
        match &self.value_type {
            ValueType::Any(_) => "interface {}".into(),
            ValueType::Bool => "bool".into(),
            ValueType::Int(name) => (*name).into(),
            ValueType::Float => "float64".into(),
            ValueType::String { .. } => "string".into(),
            ValueType::Bytes => "[]uint8".into(),
            ValueType::IntOrString => "intstr.IntOrString".into(),
            ValueType::Quantity => "resource.Quantity".into(),
            ValueType::Time => "v1.Time".into(),
            ValueType::MicroTime => "v1.MicroTime".into(),
            ValueType::List(l) => format!("[]{}", l.item.go_name()),
            ValueType::Map(m) => format!("map[string]{}", m.value.go_name()),
            ValueType::Struct(_) => "struct {}".into(),
        }
    }

    /// Go's reflect kind of the type, as conversion from unstructured objects names it.
    pub fn go_kind(&self) -> &'static str {
        match &self.value_type {
            ValueType::Any(_) => "interface",
            ValueType::Bool => "bool",
            ValueType::Int(name) => name,
            ValueType::Float => "float64",
            ValueType::String { .. } => "string",
            ValueType::Bytes | ValueType::List(_) => "slice",
            ValueType::Map(_) => "map",
            _ => "struct",
        }
    }
}
