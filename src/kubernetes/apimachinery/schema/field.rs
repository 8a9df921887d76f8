//! Fields of a struct.

use serde_json::Value;

use super::structural_schema::Name;
use super::type_ref::TypeRef;

/// The strategic merge patch directives of a field (`x-kubernetes-patch-strategy`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// `merge`: the items of the list are merged.
    pub merge: bool,
    /// `replace`: the map is replaced.
    pub replace: bool,
    /// `retainKeys`: a patch may contain `$retainKeys`.
    pub retain_keys: bool,
    /// `x-kubernetes-patch-merge-key`; `None` for lists of scalars.
    pub key: Option<&'static str>,
}

/// The condition for the encoding of a field in Go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Always; the zero value if unset.
    #[default]
    Always,
    /// `omitempty`: omitted if empty; a struct is never empty.
    OmitEmpty,
    /// `omitzero`: omitted if it is the zero value of the type.
    OmitZero,
}

/// One field of an object.
#[derive(Clone, Debug)]
pub struct Field {
    /// JSON name.
    pub name: Name,
    /// Schema of the value.
    pub schema: TypeRef,
    /// The condition for the encoding of the field; `OmitZero` in custom resources.
    pub presence: Presence,
    /// Whether the Go field is a pointer, so unset differs from zero.
    pub pointer: bool,
    /// The default: in custom resources that of the schema, in built-in types only that of list map
    /// keys.
    pub default: Option<Value>,
    /// Strategic merge patch directives of the type.
    pub patch: PatchStrategy,
    /// Position in the Go struct, which is the order of encoding.
    pub order: u16,
}
