//! LimitRanges.

use std::collections::BTreeSet;

use kueue_lab_quantity::Quantity;
use serde_json::{Value, json};

use super::builtin_strategy::BuiltinStrategy;
use super::pod::resource_validation;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Strategy of LimitRanges.
pub(super) const LIMIT_RANGE: BuiltinStrategy = BuiltinStrategy {
    allow_create_on_update: true,
    set_defaults: |object| {
        if let Some(spec) = object.get_object_mut("spec") {
            spec.items_mut("limits")
                .iter_mut()
                .for_each(default_limit_range_item);
        }
    },
    validate_create: limit_range,
    validate_update: |new, _| limit_range(new),
    ..BuiltinStrategy::DEFAULT
};

/// For type Container, defaults `default` from `max`, and `defaultRequest` from `default` and
/// `min`.
fn default_limit_range_item(limit: &mut Value) {
    if limit.text("/type") != "Container" {
        return;
    }
    let list = |field: &str, limit: &Value| limit.get(field).cloned().unwrap_or_else(|| json!({}));
    for (to, from) in [
        ("default", "max"),
        ("defaultRequest", "default"),
        ("defaultRequest", "min"),
    ] {
        for (name, amount) in list(from, limit).entries("") {
            limit.object_mut(to).set_default(name, amount.clone());
        }
    }
}

fn limit_range(object: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = FieldPath::root("spec");
    let limits = spec.child("limits");
    let mut seen = BTreeSet::new();
    for (i, limit) in object.list("/spec/limits").iter().enumerate() {
        let path = limits.index(i);
        let kind = limit.text("/type");
        let messages = name_validation::qualified_name(kind);
        let fine = messages.is_empty();
        errors.invalid_for_each(&path.child("type"), kind, messages);
        let standard = matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim");
        if fine && !kind.contains('/') && !standard {
            let detail = "must be a standard limit type or fully qualified";
            errors.invalid(&path.child("type"), kind, detail);
        }
        if !seen.insert(kind) {
            errors.duplicate(&path.child("type"), kind);
        }
        validate_limit_range_item(&mut errors, &path, limit);
    }
    errors.0
}

fn validate_limit_range_item(errors: &mut ErrorList, path: &FieldPath<'_>, limit: &Value) {
    let kind = limit.text("/type");
    let mut keys = BTreeSet::new();
    for field in [
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ] {
        let list = limit.get(field).unwrap_or(&Value::Null);
        let list_path = path.child(field);
        if kind == "Pod" && field.starts_with("default") {
            if list.entries("").next().is_some() {
                errors.forbidden(&list_path, "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        if field == "maxLimitRequestRatio" && kind == "PersistentVolumeClaim" {
            let has = |list: &str| limit.at(list).get("storage").is_some();
            if !has("/min") && !has("/max") {
                let detail =
                    "either minimum or maximum storage value is required, but neither was provided";
                errors.required(&path.child("limits"), detail);
            }
        }
        for (name, _) in list.entries("") {
            let path = list_path.key(name);
            match kind {
                "Pod" | "Container" => {
                    resource_validation::container_resource_name(errors, &path, name)
                }
                _ => {
                    resource_validation::name(errors, &path, name);
                }
            }
            keys.insert(name.as_str());
        }
    }
    for key in keys {
        validate_min_max_order(errors, path, limit, key);
    }
}

/// Validates the order of min, max, default and defaultRequest and the ratio of one resource.
fn validate_min_max_order(errors: &mut ErrorList, path: &FieldPath<'_>, limit: &Value, key: &str) {
    let of = |field: &str| {
        limit
            .get(field)
            .and_then(|l| l.get(key))
            .and_then(Quantity::of)
    };
    let (min, max) = (of("min"), of("max"));
    let (default, request) = (of("default"), of("defaultRequest"));
    let mut complain = |field: &str, bad: Quantity, detail: String| {
        errors.invalid(&path.child(field).key(key), bad.to_string(), detail);
    };
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        complain(
            "min",
            min,
            format!("min value {min} is greater than max value {max}"),
        );
    }
    if let (Some(request), Some(min)) = (request, min)
        && min > request
    {
        let detail = format!("min value {min} is greater than default request value {request}");
        complain("defaultRequest", request, detail);
    }
    if let (Some(request), Some(max)) = (request, max)
        && request > max
    {
        let detail = format!("default request value {request} is greater than max value {max}");
        complain("defaultRequest", request, detail);
    }
    if let (Some(request), Some(default)) = (request, default)
        && request > default
    {
        let detail = format!(
            "default request value {request} is greater than default limit value {default}"
        );
        complain("defaultRequest", request, detail);
    }
    if let (Some(default), Some(min)) = (default, min)
        && min > default
    {
        complain(
            "default",
            min,
            format!("min value {min} is greater than default value {default}"),
        );
    }
    if let (Some(default), Some(max)) = (default, max)
        && default > max
    {
        complain(
            "default",
            max,
            format!("default value {default} is greater than max value {max}"),
        );
    }
    if let Some(ratio) = of("maxLimitRequestRatio")
        && ratio < Quantity::from_value(1)
    {
        complain(
            "maxLimitRequestRatio",
            ratio,
            format!("ratio {ratio} is less than 1"),
        );
    }
    if let (Some(default), Some(request)) = (default, request)
        && default != request
        && !resource_validation::is_overcommit_allowed(key)
    {
        let detail = format!(
            "default value {default} must equal to defaultRequest value {request} in {key}"
        );
        complain("defaultRequest", request, detail);
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn limits_are_filled_and_compared() {
        let mut o = json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "3", "memory": "1Mi"}}]}});
        (LIMIT_RANGE.set_defaults)(&mut o);
        let limit = o.at("/spec/limits/0");
        assert_eq!(*limit.at("/default"), json!({"cpu": "2"}));
        assert_eq!(
            *limit.at("/defaultRequest"),
            json!({"cpu": "2", "memory": "1Mi"})
        );
        let texts: Vec<String> = limit_range(&o).iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                r#"spec.limits[0].min[cpu]: Invalid value: "3": min value 3 is greater than max value 2"#,
                r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "2": min value 3 is greater than default request value 2"#,
                r#"spec.limits[0].default[cpu]: Invalid value: "3": min value 3 is greater than default value 2"#,
            ]
        );
    }
}
