//! ResourceQuotas.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::builtin_strategy::BuiltinStrategy;
use super::pod::resource_validation;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_json::ValueExt;

/// Strategy of ResourceQuotas.
pub(super) const RESOURCE_QUOTA: BuiltinStrategy = BuiltinStrategy {
    prepare_for_create: |quota| quota["status"] = json!({}),
    validate_create: |quota| {
        let mut errors = ErrorList::default();
        quota_spec(&mut errors, quota.at("/spec"));
        errors.0
    },
    validate_update: |new, old| {
        let mut errors = ErrorList::default();
        quota_spec(&mut errors, new.at("/spec"));
        let scopes = |quota: &Value| -> BTreeSet<String> {
            quota
                .list("/spec/scopes")
                .iter()
                .map(kueue_lab_apimachinery::strategy::table_cells::scalar)
                .collect()
        };
        if scopes(new) != scopes(old) {
            let path = FieldPath::root("spec");
            let bad = new.at("/spec/scopes").clone();
            errors.invalid(&path.child("scopes"), bad, "field is immutable");
        }
        errors.0
    },
    validate_subresource_update: |_, new, _| {
        let mut errors = ErrorList::default();
        let status = FieldPath::root("status");
        for list in ["hard", "used"] {
            quota_list(
                &mut errors,
                &status.child(list),
                new.at("/status").get(list),
            );
        }
        errors.0
    },
    ..BuiltinStrategy::DEFAULT
};

fn quota_list(errors: &mut ErrorList, path: &FieldPath<'_>, list: Option<&Value>) {
    for (name, amount) in list.into_iter().flat_map(|l| l.entries("")) {
        let path = path.key(name);
        resource_validation::quota_resource_name(errors, &path, name);
        resource_validation::resource_quantity(errors, &path, name, amount);
    }
}

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

/// Whether a quota scope applies to a standard resource; other resources are not checked.
fn is_quota_scope_valid_for_resource(scope: &str, resource: &str) -> bool {
    let pods = matches!(
        resource,
        "pods"
            | "cpu"
            | "memory"
            | "ephemeral-storage"
            | "requests.cpu"
            | "requests.memory"
            | "requests.ephemeral-storage"
            | "limits.cpu"
            | "limits.memory"
            | "limits.ephemeral-storage"
    );
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        _ => pods || resource.contains('/') || resource.contains("hugepages-"),
    }
}

/// The errors of scopes that are reported. Each of them contains all scopes.
const MAX_SCOPE_ERRORS: usize = 64;

fn quota_spec(errors: &mut ErrorList, spec: &Value) {
    let root = FieldPath::root("spec");
    quota_list(errors, &root.child("hard"), spec.get("hard"));
    let scopes: Vec<&str> = spec
        .list("/scopes")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let path = root.child("scopes");
    let shown = spec.at("/scopes").clone();
    let mut fine = BTreeSet::new();
    let most = errors.0.len() + MAX_SCOPE_ERRORS;
    for scope in &scopes {
        let before = errors.0.len();
        if before >= most {
            break;
        }
        if fine.contains(scope) {
            continue;
        }
        if !SCOPES.contains(scope) {
            errors.invalid(&path, shown.clone(), "unsupported scope");
        }
        for (resource, _) in spec.entries("/hard") {
            if errors.0.len() >= most {
                break;
            }
            if !resource.contains('/') && !is_quota_scope_valid_for_resource(scope, resource) {
                errors.invalid(
                    &path,
                    shown.clone(),
                    "unsupported scope applied to resource",
                );
            }
        }
        if errors.0.len() == before {
            fine.insert(*scope);
        }
    }
    for (a, b) in [
        ("BestEffort", "NotBestEffort"),
        ("Terminating", "NotTerminating"),
    ] {
        if scopes.contains(&a) && scopes.contains(&b) {
            errors.invalid(&path, shown.clone(), "conflicting scopes");
        }
    }
    let selector = root.child("scopeSelector");
    let path = selector.child("matchExpressions");
    for term in spec.list("/scopeSelector/matchExpressions") {
        validate_scope_selector_requirement(errors, &path, term);
    }
}

fn validate_scope_selector_requirement(errors: &mut ErrorList, path: &FieldPath<'_>, term: &Value) {
    let (scope, operator) = (term.text("/scopeName"), term.text("/operator"));
    if !SCOPES.contains(&scope) {
        errors.invalid(&path.child("scopeName"), scope, "unsupported scope");
    }
    let plain = !matches!(scope, "PriorityClass" | "VolumeAttributesClass");
    if plain && SCOPES.contains(&scope) && operator != "Exists" {
        let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.invalid(&path.child("operator"), operator, detail);
    }
    let values = term.list("/values");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let detail =
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.required(&path.child("values"), detail);
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail =
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.invalid(&path.child("values"), term.at("/values").clone(), detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => errors.invalid(
            &path.child("operator"),
            other,
            "not a valid selector operator",
        ),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn quotas() {
        let q = json!({"spec": {"hard": {"pods": "1.5", "foo": "1", "requests.nvidia.com/gpu": "4", "cpu": "2"}, "scopes": ["BestEffort"]}});
        let texts: Vec<String> = (RESOURCE_QUOTA.validate_create)(&q)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                r#"spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified"#,
                r#"spec.hard[foo]: Invalid value: "foo": must be a standard resource for quota"#,
                r#"spec.hard[pods]: Invalid value: "1500m": must be an integer"#,
                r#"spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource"#,
                r#"spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource"#,
            ]
        );
    }
}
