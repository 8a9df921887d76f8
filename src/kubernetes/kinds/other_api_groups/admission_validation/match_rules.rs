//! Rules by which webhooks and policies match requests.

use std::collections::BTreeSet;

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::{labels, object_names};
use kueue_lab_json::ValueExt;

pub(super) const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];

pub(super) fn selectors(errors: &mut ErrorList, path: &FieldPath<'_>, holder: &Value) {
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = holder.get(field) {
            let path = path.child(field).to_string();
            errors.extend(labels::validate_selector(selector, &path));
        }
    }
}

pub(super) fn optional_one_of(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    object: &Value,
    field: &str,
    supported: &[&str],
) {
    if let Some(value) = object.get(field).and_then(Value::as_str) {
        errors.one_of(&path.child(field), value, supported);
    }
}

fn has_wildcard(values: &[Value]) -> bool {
    values.iter().any(|v| v == "*")
}

/// Validates a `RuleWithOperations`.
pub(super) fn rule_with_operations(errors: &mut ErrorList, path: &FieldPath<'_>, rule: &Value) {
    for (field, others) in [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    ] {
        let values = rule.get(field).and_then(Value::as_array);
        let values = values.map_or(&[][..], Vec::as_slice);
        let path = path.child(field);
        if values.is_empty() {
            errors.required(&path, "");
        }
        if values.len() > 1 && has_wildcard(values) {
            let detail = format!("if '*' is present, must not specify other {others}");
            errors.invalid(&path, values.to_vec(), detail);
        }
        for (i, value) in values.iter().filter_map(Value::as_str).enumerate() {
            match field {
                "operations" => errors.one_of(&path.index(i), value, &OPERATIONS),
                "apiVersions" if value.is_empty() => errors.required(&path.index(i), ""),
                _ => {}
            }
        }
    }
    rule_resources(errors, &path.child("resources"), rule.list("/resources"));
    optional_one_of(errors, path, rule, "scope", &SCOPES);
}

fn rule_resources(errors: &mut ErrorList, path: &FieldPath<'_>, resources: &[Value]) {
    if resources.is_empty() {
        errors.required(path, "");
    }
    let (mut of_any_subresource, mut of_any_resource) = (BTreeSet::new(), BTreeSet::new());
    // Upstream considers only the last entry without a slash.
    let mut has_plain_resource = false;
    for (i, name) in resources.iter().filter_map(Value::as_str).enumerate() {
        if name.is_empty() {
            errors.required(&path.index(i), "");
            continue;
        }
        let Some((resource, subresource)) = name.split_once('/') else {
            has_plain_resource = name != "*";
            continue;
        };
        for (present, is_present) in [
            (
                format!("{resource}/*"),
                of_any_subresource.contains(resource),
            ),
            (
                format!("*/{subresource}"),
                of_any_resource.contains(subresource),
            ),
        ] {
            if is_present {
                let detail = format!("if '{present}' is present, must not specify {name}");
                errors.invalid(&path.index(i), name, detail);
            }
        }
        if subresource == "*" {
            of_any_subresource.insert(resource);
        }
        if resource == "*" {
            of_any_resource.insert(subresource);
        }
    }
    if resources.len() > 1 && resources.iter().any(|r| r == "*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.invalid(path, resources.to_vec(), detail);
    }
    if has_wildcard(resources) && has_plain_resource {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(path, resources.to_vec(), detail);
    }
}

/// Validates `MatchResources`.
pub(super) fn match_resources(errors: &mut ErrorList, path: &FieldPath<'_>, resources: &Value) {
    let policy = resources.text("/matchPolicy");
    errors.required_one_of(&path.child("matchPolicy"), policy, &MATCH_POLICIES);
    selectors(errors, path, resources);
    for field in ["resourceRules", "excludeResourceRules"] {
        let all = path.child(field);
        let rules = resources.get(field).and_then(Value::as_array);
        for (i, rule) in rules.into_iter().flatten().enumerate() {
            let path = all.index(i);
            let names_path = path.child("resourceNames");
            let mut names = BTreeSet::new();
            for (j, name) in rule.list("/resourceNames").iter().enumerate() {
                let name = name.as_str().unwrap_or_default();
                let messages = object_names::path_segment_name(name, false);
                errors.invalid_for_each(&names_path.index(j), name, messages);
                if !names.insert(name) {
                    errors.duplicate(&names_path.index(j), name);
                }
            }
            rule_with_operations(errors, &path, rule);
        }
    }
}
