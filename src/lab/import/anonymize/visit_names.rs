//! Visits the strings of an object that can be names, and replaces them.

use std::net::IpAddr;

use kueue_lab_api::constants::SUSPENDED_BY_PARENT_ANNOTATION;
use serde_json::{Map, Value};

use super::devices::replace_attributes;
use super::fields::{
    DOMAINS, ENUMERATIONS, FREE_TEXT_FIELDS, KEPT_FIELDS, LABEL_KEYS, LABELS, REMOVED_FIELDS,
};
use super::strings::{has_public_domain, is_constant, is_no_name, is_public_domain, is_public_key};
use super::topology_assignment::replace_domains;

/// The replacement of the addresses of hosts, such as those of DNS servers: an address for documentation (RFC 5737).
const ADDRESS: &str = "192.0.2.1";

/// Replaces a name, or text that can contain names.
pub(super) trait NameReplacer {
    /// Replaces a name.
    fn name(&mut self, name: &str) -> String;
    /// Replaces names in a sentence.
    fn text(&mut self, text: &str) -> String;
}

/// Replaces the names in an object. `conditions` are the types of the conditions whose messages are Kueue's;
/// other messages are removed.
pub(super) fn visit_names(
    object: &mut Value,
    conditions: &[&str],
    replace: &mut impl NameReplacer,
) {
    let mut visitor = NameVisitor {
        conditions,
        replace,
    };
    visitor.value("", object, false);
}

struct NameVisitor<'a, R> {
    conditions: &'a [&'a str],
    replace: &'a mut R,
}

impl<R: NameReplacer> NameVisitor<'_, R> {
    /// Replaces the names in the value of a field; in a `free` one strings are names whatever they look like.
    fn value(&mut self, field: &str, value: &mut Value, free: bool) {
        match value {
            Value::Object(fields) => self.object(field, fields, free),
            Value::Array(items) => {
                let is_program = field == "command" && is_sleep(items);
                for item in items {
                    if !is_program {
                        self.value(field, item, free);
                    }
                }
            }
            Value::String(text) => {
                if let Some(replaced) = self.string(field, text, free) {
                    *text = replaced;
                }
            }
            _ => {}
        }
    }

    /// The replacement of the string of a field; `None` if it is kept.
    fn string(&mut self, field: &str, text: &str, free: bool) -> Option<String> {
        let is_constant = ENUMERATIONS.contains(&field) && is_constant(text);
        match field {
            "message" => Some(String::new()),
            "expression" => Some(self.replace.text(text)),
            "fieldPath" => Some(field_path(text, self.replace)),
            "apiVersion" | "apiGroup" | "group" => private_group(text).map(|group| {
                let rest = &text[group.len()..];
                self.replace.name(group) + rest
            }),
            // Those without a domain are Kubernetes'.
            "finalizers" => (text.contains('/')).then(|| key(text, self.replace)),
            _ if KEPT_FIELDS.contains(&field) => None,
            _ if text.parse::<IpAddr>().is_ok() => Some(ADDRESS.to_owned()),
            _ if LABEL_KEYS.contains(&field) => Some(key(text, self.replace)),
            _ if is_no_name(text) => None,
            _ if !free && (is_constant || has_public_domain(text)) => None,
            _ if DOMAINS.contains(&field) && is_public_domain(text) => None,
            _ => Some(self.replace.name(text)),
        }
    }

    fn object(&mut self, field: &str, fields: &mut Map<String, Value>, free: bool) {
        if LABELS.contains(&field) || field == "annotations" {
            return self.labels(field, fields);
        }
        if field == "topologyAssignment" && replace_domains(fields, self.replace) {
            return;
        }
        if matches!(field, "attributes" | "capacity") && replace_attributes(fields, self.replace) {
            return;
        }
        fields.retain(|name, _| !REMOVED_FIELDS.contains(&name.as_str()));
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let is_kueue_condition = field == "conditions"
            && text("type").is_some_and(|type_| self.conditions.contains(&type_));
        let groups = ["apiVersion", "apiGroup", "group"];
        let is_private = groups
            .into_iter()
            .filter_map(text)
            .any(|text| private_group(text).is_some());
        // The name of a resource.
        let has_resource_name = fields.contains_key("nominalQuota")
            || fields.contains_key("total")
            || matches!(field, "resources" | "deviceClassMappings");
        for (name, content) in fields {
            match (name.as_str(), content) {
                ("name", _) if has_resource_name => {}
                // The path of a Pod template in a component of an AppWrapper.
                ("path", _) if matches!(field, "podSets" | "declaredPodSets") => {}
                ("message", Value::String(text)) if is_kueue_condition => {
                    *text = self.replace.text(text);
                }
                ("kind", Value::String(text)) if is_private => *text = self.replace.name(text),
                (name, content) => {
                    self.value(name, content, free || FREE_TEXT_FIELDS.contains(&name))
                }
            }
        }
    }

    /// Replaces keys and values of labels; annotations that are not public are removed.
    fn labels(&mut self, field: &str, labels: &mut Map<String, Value>) {
        for (label, mut content) in std::mem::take(labels) {
            if let Value::String(text) = &mut content {
                *text = label_value(&label, text, self.replace);
            }
            if is_public_key(&label) {
                labels.insert(label, content);
            } else if field != "annotations" {
                labels.insert(key(&label, self.replace), content);
            }
        }
    }
}

/// The value of a label or annotation.
pub(super) fn label_value(label: &str, text: &str, replace: &mut impl NameReplacer) -> String {
    const CONSTANTS: [&str; 3] = [
        "kubernetes.io/arch",
        "kubernetes.io/os",
        SUSPENDED_BY_PARENT_ANNOTATION,
    ];
    if text.parse::<IpAddr>().is_ok() {
        return ADDRESS.to_owned();
    }
    match is_no_name(text) || CONSTANTS.iter().any(|c| label.ends_with(c)) {
        true => text.to_owned(),
        // Topology annotations hold the key of a label.
        false if has_public_domain(text) => text.to_owned(),
        false => replace.name(text),
    }
}

/// The key of a label, annotation or taint, or a finalizer.
pub(super) fn key(text: &str, replace: &mut impl NameReplacer) -> String {
    match is_public_key(text) {
        true => text.to_owned(),
        false => replace.name(text),
    }
}

/// The API group of `group` or `group/version`, if it is not one of Kubernetes, Kueue or a job operator.
fn private_group(text: &str) -> Option<&str> {
    let group = text.split_once('/').map_or(text, |(group, _)| group);
    (group.contains('.') && !is_public_domain(group)).then_some(group)
}

/// The path of a field of a Pod, which can name a label: `metadata.labels['key']`.
fn field_path(path: &str, replace: &mut impl NameReplacer) -> String {
    let Some((field, label)) = path.split_once("['") else {
        return path.to_owned();
    };
    let label = label.trim_end_matches("']");
    format!("{field}['{}']", key(label, replace))
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
