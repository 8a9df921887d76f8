//! Validation of resource names and quantities.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::name_validation;
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;
pub(crate) use kueue_lab_resource_quota::resource_name::{is_huge_page, is_native};

/// Whether the resource is an extended resource, such as `nvidia.com/gpu`.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && name_validation::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether the limit of the resource may exceed its request.
pub(crate) fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const COUNTED: [&str; 9] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Whether an unqualified resource name is a standard resource.
fn is_standard(name: &str) -> bool {
    let plain = name
        .strip_prefix("requests.")
        .or(name.strip_prefix("limits."))
        .unwrap_or(name);
    COMPUTE.contains(&plain)
        || COUNTED.contains(&name)
        || matches!(name, "storage" | "requests.storage")
        || is_huge_page(name.strip_prefix("requests.").unwrap_or(name))
}

/// Whether an unqualified resource name is valid in a ResourceQuota.
fn is_standard_for_quota(name: &str) -> bool {
    is_standard(name) && name != "storage" || name.starts_with("count/")
}

/// Validates a resource name; returns whether it is valid.
pub(crate) fn name(errors: &mut ErrorList, path: &FieldPath<'_>, name: &str) -> bool {
    let messages = name_validation::qualified_name(name);
    if !messages.is_empty() {
        errors.invalid_for_each(path, name, messages);
        return false;
    }
    if !name.contains('/') && !is_standard(name) {
        errors.invalid(
            path,
            name,
            "must be a standard resource type or fully qualified",
        );
        return false;
    }
    true
}

/// Validates the name of a container resource.
pub(crate) fn container_resource_name(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    resource: &str,
) {
    name(errors, path, resource);
    if !resource.contains('/') {
        if !COMPUTE.contains(&resource) && !is_huge_page(resource) {
            errors.invalid(path, resource, "must be a standard resource for containers");
        }
    } else if !is_native(resource) && !is_extended(resource) {
        errors.invalid(
            path,
            resource,
            "doesn't follow extended resource name standard",
        );
    }
}

/// Validates the name of a resource in a ResourceQuota.
pub(crate) fn quota_resource_name(errors: &mut ErrorList, path: &FieldPath<'_>, resource: &str) {
    name(errors, path, resource);
    if !resource.contains('/') && !is_standard_for_quota(resource) {
        errors.invalid(path, resource, "must be a standard resource for quota");
    }
}

/// Validates a quantity: not negative, and an integer for resources that require it.
pub(crate) fn resource_quantity(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    resource: &str,
    value: &Value,
) {
    let Some(quantity) = Quantity::of(value) else {
        return;
    };
    if quantity.is_negative() {
        let detail = "must be greater than or equal to 0";
        errors.invalid(path, quantity.to_string(), detail);
    }
    let whole = COUNTED.contains(&resource) || is_extended(resource);
    if whole && quantity.milli_value() % 1000 != 0 {
        errors.invalid(path, quantity.to_string(), "must be an integer");
    }
}

/// Validates the `resources` of a container.
pub(crate) fn requirements(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    resources: &Value,
    claims_of_pod: &[Value],
) {
    let (limits, requests) = (resources.at("/limits"), resources.at("/requests"));
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    for (name, value) in limits.entries("") {
        let path = limits_path.key(name);
        container_resource_name(errors, &path, name);
        resource_quantity(errors, &path, name, value);
        huge_pages(errors, &path, name, value);
    }
    for (name, value) in requests.entries("") {
        let path = requests_path.key(name);
        container_resource_name(errors, &path, name);
        resource_quantity(errors, &path, name, value);
        within_limit(errors, &limits_path, &requests_path, name, value, limits);
        huge_pages(errors, &path, name, value);
    }
    let any = |wanted: fn(&str) -> bool| {
        limits
            .entries("")
            .chain(requests.entries(""))
            .any(|(name, _)| wanted(name))
    };
    if any(is_huge_page) && !any(|name| matches!(name, "cpu" | "memory")) {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
    claims(
        errors,
        &path.child("claims"),
        resources.list("/claims"),
        claims_of_pod,
    );
}

fn within_limit(
    errors: &mut ErrorList,
    limits_path: &FieldPath<'_>,
    requests_path: &FieldPath<'_>,
    name: &str,
    value: &Value,
    limits: &Value,
) {
    let Some(request) = Quantity::of(value) else {
        return;
    };
    match limits.get(name).and_then(Quantity::of) {
        Some(limit) if request != limit && !is_overcommit_allowed(name) => {
            let detail = format!("must be equal to {name} limit of {limit}");
            errors.invalid(requests_path, request.to_string(), detail);
        }
        Some(limit) if request > limit => {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            errors.invalid(requests_path, request.to_string(), detail);
        }
        None if !is_overcommit_allowed(name) => {
            errors.required(
                limits_path,
                "Limit must be set for non overcommitable resources",
            );
        }
        _ => {}
    }
}

fn huge_pages(errors: &mut ErrorList, path: &FieldPath<'_>, name: &str, value: &Value) {
    let Some(size) = name
        .strip_prefix("hugepages-")
        .and_then(|s| Quantity::parse(s).ok())
    else {
        return;
    };
    let Some(quantity) = Quantity::of(value) else {
        return;
    };
    if size.value() > 0 && quantity.value() % size.value() != 0 {
        let detail = format!("{quantity} is not positive integer multiple of {name}");
        errors.invalid(path, quantity.to_string(), detail);
    }
}

/// The number of unknown claims of a container whose errors list the claims of the pod.
const MAX_CLAIMS_WITH_NAMES: usize = 16;

/// Validates that the resource claims of a container refer to claims of its pod.
fn claims(errors: &mut ErrorList, path: &FieldPath<'_>, claims: &[Value], of_pod: &[Value]) {
    let known: BTreeSet<&str> = of_pod
        .iter()
        .map(|c| c.text("/name"))
        .filter(|n| !n.is_empty())
        .collect();
    let mut unknown = 0;
    let mut seen: HashSet<String> = HashSet::new();
    for (i, claim) in claims.iter().enumerate() {
        let path = path.index(i);
        let (name, request) = (claim.text("/name"), claim.text("/request"));
        if name.is_empty() {
            errors.required(&path, "");
            continue;
        }
        let key = if request.is_empty() {
            name.to_string()
        } else {
            format!("{name}/{request}")
        };
        if seen.contains(name) || seen.contains(&key) {
            errors.duplicate(&path, key.clone());
        }
        seen.insert(key);
        if !known.contains(name) {
            errors.not_found(&path, name);
            // The names are repeated for a few claims, not for thousands.
            unknown += 1;
            if unknown > MAX_CLAIMS_WITH_NAMES {
                continue;
            }
            let names: Vec<&str> = known.iter().copied().collect();
            let rest = match names.is_empty() {
                true => " which is empty".to_string(),
                false => format!(": {}", names.join(", ")),
            };
            if let Some(last) = errors.0.last_mut() {
                last.detail = format!("must be one of the names in pod.spec.resourceClaims{rest}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(resources: Value) -> Vec<String> {
        let mut errors = ErrorList::default();
        requirements(&mut errors, &FieldPath::root("r"), &resources, &[]);
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn requests_and_limits() {
        assert!(texts(json!({"requests": {"cpu": "1", "nvidia.com/gpu": "2"}, "limits": {"cpu": "2", "nvidia.com/gpu": "2"}})).is_empty());
        assert_eq!(
            texts(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
            [r#"r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1"#]
        );
        assert_eq!(
            texts(json!({"requests": {"nvidia.com/gpu": "1"}})),
            ["r.limits: Required value: Limit must be set for non overcommitable resources"]
        );
        assert_eq!(
            texts(json!({"limits": {"nvidia.com/gpu": "1500m", "foo": "1"}})),
            [
                r#"r.limits[foo]: Invalid value: "foo": must be a standard resource type or fully qualified"#,
                r#"r.limits[foo]: Invalid value: "foo": must be a standard resource for containers"#,
                r#"r.limits[nvidia.com/gpu]: Invalid value: "1500m": must be an integer"#,
            ]
        );
        assert_eq!(
            texts(json!({"limits": {"hugepages-2Mi": "3Mi"}})),
            [
                r#"r.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi"#,
                "r: Forbidden: HugePages require cpu or memory",
            ]
        );
        assert_eq!(
            texts(json!({"requests": {"cpu": "-1"}})),
            [r#"r.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0"#]
        );
        assert_eq!(
            texts(json!({"claims": [{"name": "a"}]})),
            [
                r#"r.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty"#
            ]
        );
    }
}
