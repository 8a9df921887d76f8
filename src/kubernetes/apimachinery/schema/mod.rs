//! Structural schemas of built-in kinds and custom resources, used by decoding, pruning,
//! defaulting, patches, field management and OpenAPI.
//!
//! Schemas of built-in types are declared in the tables in `types/` (see [`builtin_types`]); `crd`
//! compiles those of custom resources. Must not depend on storage, HTTP or particular kinds.

pub(crate) mod builtin_types;
pub mod decode;
pub mod decode_limits;
pub mod defaulting;
mod field;
pub mod go_format;
pub mod prune;
pub(crate) mod scalar;
pub mod strict_json;
mod structural_schema;
pub(crate) mod time;
mod type_ref;
mod value_type;
mod value_validation;

pub use builtin_types::{builtin_schema, custom_kind_schema, find_named_type};
pub use value_validation::{ValidationRule, ValueValidation};

pub use field::{Field, PatchStrategy, Presence};

pub use structural_schema::{Name, Schema};

pub use type_ref::TypeRef;

pub use value_type::{AnyType, ListSchema, ListType, MapSchema, StructSchema, ValueType};
