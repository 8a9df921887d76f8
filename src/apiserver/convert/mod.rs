//! Conversion between the versions of built-in kinds that are served in two forms.
//!
//! Works on objects only. Custom resources convert through [`crate::hooks::Converter`].

mod autoscaler;
mod event;

use serde_json::{Map, Value};

/// Converts a built-in object in place from its own apiVersion to `to`. Kinds with one version only
/// have nothing to convert.
pub fn builtin(object: &mut Value, to: &str) {
    let from = object["apiVersion"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    match (from.as_str(), to) {
        ("v1", "events.k8s.io/v1") => event::to_events(object),
        ("events.k8s.io/v1", "v1") => event::to_core(object),
        ("autoscaling/v1", "autoscaling/v2") => autoscaler::to_v2(object),
        ("autoscaling/v2", "autoscaling/v1") => autoscaler::to_v1(object),
        _ => {}
    }
    object["apiVersion"] = to.into();
}

/// Moves a field to another name.
fn rename(object: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.insert(to.into(), value);
    }
}
