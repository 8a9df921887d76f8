//! Fields of a struct.

use serde_json::Value;

use super::structural_schema::Name;
use super::type_ref::TypeRef;

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
