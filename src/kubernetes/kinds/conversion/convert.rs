//! Conversion of an object between the versions of a built-in kind.

use serde_json::{Map, Value};

use super::{event, horizontal_pod_autoscaler};

/// Converts a built-in object in place from its own apiVersion to `to`. Kinds with one version are
/// left unchanged.
pub fn convert_builtin(object: &mut Value, to: &str) {
    let from = object["apiVersion"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    match (from.as_str(), to) {
        ("v1", "events.k8s.io/v1") => event::to_events_v1(object),
        ("events.k8s.io/v1", "v1") => event::to_core_v1(object),
        ("autoscaling/v1", "autoscaling/v2") => horizontal_pod_autoscaler::to_v2(object),
        ("autoscaling/v2", "autoscaling/v1") => horizontal_pod_autoscaler::to_v1(object),
        _ => {}
    }
    object["apiVersion"] = to.into();
}

/// Renames a field.
pub(crate) fn rename_field(object: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.insert(to.into(), value);
    }
}
