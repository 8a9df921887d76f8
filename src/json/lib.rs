//! Access to Kubernetes objects as JSON: fields by JSON pointer, and defaults. Absent and null are
//! the same, as in Kubernetes. Syntax errors as Go words them.
//!
//! Must not depend on other crates of the lab.

mod syntax_error;
mod value_ext;

pub use syntax_error::go_syntax_error;
pub use value_ext::{ValueExt, ValueMutExt};
