//! [`Schema`]: a structural schema.

use std::borrow::Cow;

use super::value_type::ValueType;
use super::value_validation::ValueValidation;

/// A field or type name: borrowed from the built-in tables, owned for custom resources.
pub type Name = Cow<'static, str>;

/// The structural schema of one value.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The Go type name for error messages, such as `v1.Protocol`; empty for unnamed types and in
    /// custom resources.
    pub name: Name,
    /// The type of the value.
    pub value_type: ValueType,
    /// `nullable` (custom resources only).
    pub nullable: bool,
    /// Value validations of a custom resource; `None` for built-in types.
    pub value_validation: Option<Box<ValueValidation>>,
    /// Whether this schema or a nested one has `x-kubernetes-validations`.
    pub has_validations: bool,
}

impl Schema {
    /// A schema of the given type, without name or validations.
    pub fn of(value_type: ValueType) -> Self {
        Self {
            name: Name::Borrowed(""),
            value_type,
            nullable: false,
            value_validation: None,
            has_validations: false,
        }
    }

    /// Whether this is the schema of a custom resource or of a value in one.
    pub fn is_custom(&self) -> bool {
        self.name.is_empty()
    }

    /// The schema of a field of an object or of the values of a map.
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

    /// The Go type in error messages, such as `[]v1.Container` or `map[string]string`.
    pub(crate) fn go_name(&self) -> String {
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

    /// The Go reflect kind of the type, as in errors of the conversion from unstructured.
    pub(crate) fn go_kind(&self) -> &'static str {
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
