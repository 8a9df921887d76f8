//! CustomResourceDefinition objects themselves: what is filled in for them, and whether they are
//! sound.
//!
//! Error texts are those of a real server, which checks an internal form of the object: what all
//! versions have in common stands once, above them (`spec.validation` instead of
//! `spec.versions[i].schema`), and offending values are shown in Go's names.

mod api_approval;
mod conversion;
mod defaults;
mod go_regexp_error;
mod internal_version;
mod is_structural;
mod names;
mod openapi_schema;
mod schema_accessors;
mod schema_path;
mod set_defaults;
mod type_check;
mod unrecognized_formats;
mod validate;
mod validation_rules;
mod versions;

#[cfg(test)]
mod tests;

pub(crate) use api_approval::API_APPROVED_ANNOTATION;
pub use set_defaults::set_defaults;

pub use unrecognized_formats::warnings;

pub use validate::{add_stored_version, validate_create, validate_status_update, validate_update};
