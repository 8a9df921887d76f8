//! Access to Kubernetes objects as JSON: fields by JSON pointer, and defaults. Absent and null are
//! the same, as in Kubernetes. Syntax errors and escapes as in Go.
//!
//! Must not depend on other crates of the lab.

mod html_escape;
mod syntax_error;
mod value_ext;

pub use html_escape::html_escape;
pub use syntax_error::go_syntax_error;
pub use value_ext::{ValueExt, ValueMutExt};
