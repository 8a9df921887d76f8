//! Defaulting and validation of CustomResourceDefinitions.
//!
//! Error messages are those of apiextensions-apiserver, which validates the internal version of the
//! object: a value equal in all versions is a top-level field (`spec.validation` instead of
//! `spec.versions[i].schema`), and invalid values are printed with Go field names.

mod api_approval;
mod conversion;
mod cost_estimate;
mod definition_defaults;
mod go_regexp_error;
mod is_structural;
mod names;
mod openapi_schema;
mod schema_accessors;
mod schema_path;
pub mod type_check;
mod unrecognized_formats;
mod validate;
mod validate_defaults;
mod validation_rules;
mod versions;

#[cfg(test)]
mod tests;

pub use api_approval::API_APPROVED_ANNOTATION;
pub use definition_defaults::set_defaults;

pub use unrecognized_formats::warnings;

pub use validate::{add_stored_version, validate_create, validate_status_update, validate_update};
