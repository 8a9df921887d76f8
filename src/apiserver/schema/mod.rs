//! Structural schemas: one compact form for built-in kinds and for custom resources, on which
//! decoding, pruning, defaulting, patching, ownership of fields and OpenAPI all work.
//!
//! Built-in types come from the tables in `types/` (see [`builtin_types`]); `crd` compiles custom
//! resources. Knows nothing of storage, HTTP or particular kinds.

pub mod builtin_types;
pub mod decode;
mod field;
pub mod go_format;
mod json_error;
pub mod prune;
mod scalar;
pub mod strict_json;
mod structural_schema;
pub mod time;
mod type_ref;
mod value_type;
mod value_validation;

pub use builtin_types::{builtin_schema, find_named_type};
pub use value_validation::{ValidationRule, ValueValidation};

pub use field::{Field, PatchStrategy, Presence};

pub use structural_schema::{Name, Schema};

pub use type_ref::TypeRef;

pub use value_type::{AnyType, ListSchema, ListType, MapSchema, StructSchema, ValueType};
