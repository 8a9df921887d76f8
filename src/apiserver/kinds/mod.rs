//! The kinds every Kubernetes API server has: their names for discovery, and what is particular to
//! each: defaults, validation, table columns, field selectors.
//!
//! Works on objects only; must not know storage, HTTP or watch.

mod plain;
pub mod registry;
pub mod table;

use std::sync::Arc;

pub use registry::builtin;

use super::kind::Behaviour;

/// The behaviour of a built-in kind.
fn behaviour_of(_group: &str, _version: &str, _kind: &str) -> Arc<dyn Behaviour> {
    Arc::new(plain::Plain)
}
