//! Walks through an object and replaces the strings that can be names.

use serde_json::{Map, Value};

use super::strings::{is_constant, is_no_name, is_public_key};

/// Replaces a name, or text that can contain names.
pub(super) trait Replace {
    /// Replaces a name.
    fn name(&mut self, name: &str) -> String;
    /// Replaces names in a sentence.
    fn text(&mut self, text: &str) -> String;
}

/// Maps from label keys to values.
const LABELS: [&str; 4] = ["labels", "matchLabels", "nodeLabels", "nodeSelector"];
/// Fields with a key of a label, annotation or taint.
const LABEL_KEYS: [&str; 3] = ["key", "nodeLabel", "topologyKey"];
/// Fields that stay as they are.
const KEPT: [&str; 14] = [
    "group",
    "apiVersion",
    "kind",
    "uid",
    "apiGroup",
    "finalizers",
    "controllerName",
    "coveredResources",
    "schedulerName",
    "reason",
    "protocol",
    "fieldPath",
    "resourceName",
    "underlyingCause",
];
/// Fields that identify machines and are not needed to decide.
const REMOVED: [&str; 16] = [
    "managedFields",
    "podIP",
    "podIPs",
    "hostIP",
    "hostIPs",
    "addresses",
    "podCIDR",
    "podCIDRs",
    "providerID",
    "nodeInfo",
    "daemonEndpoints",
    "images",
    "imageID",
    "containerID",
    "envFrom",
    "clusterIP",
];
/// Fields whose strings are names even if they look like constants.
const FREE: [&str; 5] = ["env", "image", "args", "command", "values"];

/// Replaces the names in an object.
pub(super) fn walk(object: &mut Value, is_kueue: bool, replace: &mut impl Replace) {
    value("", object, is_kueue, false, replace);
}

fn value(field: &str, value_: &mut Value, is_kueue: bool, free: bool, replace: &mut impl Replace) {
    match value_ {
        Value::Object(fields) => object(field, fields, is_kueue, free, replace),
        Value::Array(items) => {
            let is_program = field == "command" && is_sleep(items);
            for item in items {
                if !is_program {
                    value(field, item, is_kueue, free, replace);
                }
            }
        }
        Value::String(text) => {
            let is_kept = is_no_name(text) || (!free && is_constant(text));
            *text = match field {
                _ if KEPT.contains(&field) => return,
                "message" if is_kueue => replace.text(text),
                "message" => String::new(),
                _ if LABEL_KEYS.contains(&field) => key(text, replace),
                _ if is_kept => return,
                _ => replace.name(text),
            };
        }
        _ => {}
    }
}

fn object(
    field: &str,
    fields: &mut Map<String, Value>,
    is_kueue: bool,
    free: bool,
    replace: &mut impl Replace,
) {
    let is_labels = LABELS.contains(&field);
    if is_labels || field == "annotations" {
        let entries = std::mem::take(fields);
        for (label, mut content) in entries {
            if let Value::String(text) = &mut content {
                *text = label_value(&label, text, replace);
            }
            match is_public_key(&label) {
                true => fields.insert(label, content),
                // Annotations of others are not needed.
                false if is_labels => fields.insert(key(&label, replace), content),
                false => None,
            };
        }
        return;
    }
    fields.retain(|name, _| !REMOVED.contains(&name.as_str()));
    let is_quota = fields.contains_key("nominalQuota") || fields.contains_key("total");
    for (name, content) in fields {
        let is_resource = name == "name" && (is_quota || field == "resources");
        if !is_resource {
            let free = free || FREE.contains(&name.as_str());
            value(name, content, is_kueue, free, replace);
        }
    }
}

/// The value of a label or annotation.
fn label_value(label: &str, text: &str, replace: &mut impl Replace) -> String {
    const CONSTANTS: [&str; 2] = ["kubernetes.io/arch", "kubernetes.io/os"];
    match is_no_name(text) || CONSTANTS.iter().any(|c| label.ends_with(c)) {
        true => text.to_owned(),
        // Topology annotations hold the key of a label.
        false if is_public_key(text) => text.to_owned(),
        false => replace.name(text),
    }
}

fn key(text: &str, replace: &mut impl Replace) -> String {
    match is_public_key(text) {
        true => text.to_owned(),
        false => replace.name(text),
    }
}

/// Whether a command only sleeps: its duration decides when the container ends.
fn is_sleep(words: &[Value]) -> bool {
    match words {
        [program, time] => {
            program.as_str() == Some("sleep") && time.as_str().is_some_and(is_no_name)
        }
        _ => false,
    }
}
