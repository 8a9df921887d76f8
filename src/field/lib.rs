//! Field errors, worded as in `k8s.io/apimachinery/pkg/util/validation/field`.
//!
//! Must not depend on other crates of the lab.

mod bad_value;
mod error;
mod kind;
mod path;

pub use bad_value::{BadValue, go_quote, json_type_name};
pub use error::{FieldError, FieldErrors, aggregate};
pub use kind::FieldErrorKind;
pub use path::Path;
