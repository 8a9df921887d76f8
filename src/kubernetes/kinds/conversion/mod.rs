//! Conversion between the versions of built-in kinds.
//!
//! Works on objects only. Custom resources are converted by the API server's
//! `CustomResourceConverter`.

mod convert;
mod event;
mod horizontal_pod_autoscaler;

pub use convert::convert_builtin;
