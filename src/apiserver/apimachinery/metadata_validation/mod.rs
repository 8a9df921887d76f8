//! Validation of object metadata on create and update.

pub(crate) mod labels;
pub(crate) mod name_validation;
mod object_meta;

pub(crate) use object_meta::{
    annotations, validate_common, validate_common_update, validate_custom_resource_meta,
    validate_custom_resource_meta_update, validate_object_meta, validate_object_meta_update,
};
