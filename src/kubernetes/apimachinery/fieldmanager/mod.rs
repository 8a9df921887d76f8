//! Field management: `managedFields` of all writes, and server-side apply.
//!
//! Works on objects and schemas; the caller decodes, defaults and stores objects.

mod apply;
mod atom;
pub(crate) mod compare;
mod field_manager;
pub mod field_set;
mod last_applied;
mod managed_fields;
mod merge;
mod merge_configuration;
mod path_element;
pub mod scale_handler;
mod strip_meta;
mod typed_value;
mod update;
mod validate;
mod version_converter;

pub use apply::apply;
pub use managed_fields::{ManagedFieldsError, restore_invalid_managed_fields};
pub use merge_configuration::{MergeConfigurationError, merge_configuration};
pub use update::{ignore_managed_fields_timestamps, update};

#[cfg(test)]
mod tests;

pub use field_manager::{ApplyResult, FieldManager, manager_name, reset_fields};

pub use version_converter::{SingleVersion, VersionConverter};
