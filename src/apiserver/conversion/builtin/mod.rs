//! Conversion between the versions of built-in kinds that are served in two forms.
//!
//! Works on objects only. Custom resources convert through [`crate::hooks::Converter`].

mod convert;
mod event;
mod horizontal_pod_autoscaler;

pub use convert::convert_builtin;
