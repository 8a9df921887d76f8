//! Validation of names, field paths and field errors, worded as in
//! `k8s.io/apimachinery/pkg/util/validation` and its package `field`.
//!
//! Must not depend on other crates of the lab.

mod bad_value;
mod error;
mod kind;
pub mod name_validation;
mod path;

pub use bad_value::{BadValue, json_type_name};
pub use error::{FieldError, FieldErrors, aggregate};
pub use kind::FieldErrorKind;
pub use path::Path;
