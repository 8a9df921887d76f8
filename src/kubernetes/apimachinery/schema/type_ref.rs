//! [`TypeRef`]: a reference to a schema.

use std::ops::Deref;
use std::sync::Arc;

use super::builtin_types;
use super::structural_schema::Schema;

/// A reference to a schema; schemas of built-in types are built on first use.
#[derive(Clone)]
pub enum TypeRef {
    /// An inline schema.
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
            Self::Builtin(entry) => write!(f, "{}", entry.table_name()), // types may be recursive
        }
    }
}
