//! Validation of object metadata on create and update.

pub mod labels;
mod object_meta;
pub mod object_names;

pub use object_meta::{
    annotations, validate_common, validate_common_update, validate_custom_resource_meta,
    validate_custom_resource_meta_update, validate_object_meta, validate_object_meta_update,
};
