//! JSON patch, JSON merge patch and strategic merge patch, with the error messages of the API
//! server.
//!
//! Works on objects and schemas only; server-side apply is in `fieldmanager`.

mod apply_patch;
mod field_validation;
mod json_merge_patch;
mod json_patch;
mod patch_steps;
mod strategic_merge_patch;

pub use apply_patch::{PatchType, patch};

pub use field_validation::FieldValidation;
pub use patch_steps::{MAX_COPIED_BYTES, MAX_PATCH_STEPS};
