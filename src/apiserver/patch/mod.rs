//! JSON patch, JSON merge patch and strategic merge patch, with the error messages of the API
//! server.
//!
//! Works on objects and schemas only; server-side apply is in `managed`.

mod apply_patch;
mod field_validation;
mod json_merge_patch;
mod json_patch;
mod strategic_merge_patch;

pub use apply_patch::{Decode, PatchType, Patched, patch};

pub use field_validation::FieldValidation;
