//! Field errors, worded as `k8s.io/apimachinery/pkg/util/validation/field` words them.
//!
//! Must not know any other crate of the lab.

#![warn(unreachable_pub)]

mod bad_value;
mod error;
mod kind;
mod path;

pub use bad_value::{BadValue, go_quote};
pub use error::{FieldError, FieldErrors, aggregate};
pub use kind::FieldErrorKind;
pub use path::Path;
