//! The kinds every Kubernetes API server has: their names for discovery, and what is particular to
//! each: defaults, validation, table columns, field selectors.
//!
//! Works on objects only; must not know storage, HTTP or watch.

mod apps;
pub mod batch;
mod catalog;
pub mod check;
mod cluster;
mod config;
mod godiff;
mod godump;
mod limits;
pub mod meta;
mod namespace;
mod node;
pub mod pod;
pub mod registry;
mod rules;
pub mod service;
pub mod tables;
pub mod value;

use std::sync::Arc;

pub use registry::builtin;
pub use rules::{Field, Fields, Rules};

use super::kind::Behaviour;

/// The behaviour of a built-in kind.
fn behaviour_of(group: &str, _version: &str, kind: &str, namespaced: bool) -> Arc<dyn Behaviour> {
    let rules = catalog::rules(group, kind);
    Arc::new(Rules {
        namespaced,
        table: tables::of(group, kind),
        ..rules
    })
}
