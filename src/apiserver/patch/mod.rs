//! Patches: JSON patch, JSON merge patch and strategic merge patch, with the server's error texts.
//!
//! Knows objects and schemas only; server-side apply is in `managed`.

mod apply_patch;
mod field_validation;
mod json_merge_patch;
mod json_patch;
mod strategic_merge_patch;

pub use apply_patch::{Decode, PatchType, Patched, patch};

pub use field_validation::FieldValidation;
