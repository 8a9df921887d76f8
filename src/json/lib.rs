//! Access to Kubernetes objects as JSON: fields by JSON pointer, and defaults. Absent and null are
//! the same, as in Kubernetes.
//!
//! Must not depend on other crates of the lab.

mod value_ext;

pub use value_ext::{ValueExt, ValueMutExt};
