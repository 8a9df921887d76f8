//! HorizontalPodAutoscalers.

use serde_json::{Value, json};

use crate::builtin_strategy::BuiltinStrategy;
use crate::conversion::convert_builtin;
use crate::pod::resource_validation;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::object_names;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};
use kueue_lab_quantity::Quantity;

pub(super) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    set_defaults: default,
    prepare_for_create: |scaler| {
        scaler["status"] = json!({"desiredReplicas": 0, "currentMetrics": null});
    },
    validate_create: |new| validate(new, None),
    validate_update: |new, old| validate(new, Some(old)),
    ..BuiltinStrategy::DEFAULT
};

const SPEC: FieldPath<'_> = FieldPath::root("spec");

/// Sets defaults. `autoscaling/v2` also defaults `metrics` to a CPU utilization of 80%, and the
/// rules of a `behavior`.
fn default(scaler: &mut Value) {
    let second = scaler.text("/apiVersion") != "autoscaling/v1";
    let Some(spec) = scaler.get_object_mut("spec") else {
        return;
    };
    spec.set_default("minReplicas", 1);
    if second && spec.list("/metrics").is_empty() {
        let cpu = json!({"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
        spec.set_or_remove("metrics", Some(json!([cpu])));
    }
    if second && let Some(behavior) = spec.get_object_mut("behavior") {
        let all = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
        let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
        let up = behavior.object_mut("scaleUp");
        up.set_default("stabilizationWindowSeconds", 0);
        default_rules(up, json!([pods, all]));
        default_rules(behavior.object_mut("scaleDown"), json!([all]));
    }
}

fn default_rules(rules: &mut Value, policies: Value) {
    rules.set_default("selectPolicy", "Max");
    rules.set_default("policies", policies);
}

/// The values of `apiVersion` that a reference may have.
#[derive(Clone, Copy, PartialEq)]
enum AllowedApiVersion {
    WithGroup,
    WithOrWithoutGroup,
    Any,
}

/// Validates a HorizontalPodAutoscaler in any version.
fn validate(scaler: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let scaler = to_v2(scaler);
    let old = old.map(to_v2);
    let mut errors = ErrorList::default();
    let spec = scaler.at("/spec");
    let (min, max) = (spec.at("/minReplicas").as_i64(), spec.int("/maxReplicas"));
    let is_zero = |old: &Value| old.at("/spec/minReplicas").as_i64() == Some(0);
    let lowest = if old.as_ref().is_some_and(is_zero) {
        0
    } else {
        1
    };
    if let Some(min) = min
        && min < lowest
    {
        let detail = format!("must be greater than or equal to {lowest}");
        errors.invalid(&SPEC.child("minReplicas"), min, detail);
    }
    let path = SPEC.child("maxReplicas");
    if max < 1 {
        errors.invalid(&path, max, "must be greater than 0");
    }
    if min.is_some_and(|min| max < min) {
        errors.invalid(&path, max, "must be greater than or equal to `minReplicas`");
    }
    let target = spec.at("/scaleTargetRef");
    let allowed = allowed_for_target(target, old.as_ref());
    reference(&mut errors, &SPEC.child("scaleTargetRef"), target, allowed);
    let allowed = allowed_for_metrics(old.as_ref());
    let metrics = SPEC.child("metrics");
    for (i, metric) in spec.list("/metrics").iter().enumerate() {
        validate_metric(&mut errors, &metrics.index(i), metric, allowed);
    }
    let has_other = |m: &Value| matches!(m.text("/type"), "Object" | "External");
    if min == Some(0) && !spec.list("/metrics").iter().any(has_other) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(&metrics, detail);
    }
    let behavior = SPEC.child("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        let rules = spec.at("/behavior").get(direction);
        if let Some(rules) = rules.filter(|r| !r.is_null()) {
            validate_rules(&mut errors, &behavior.child(direction), rules);
        }
    }
    errors.0
}

fn to_v2(scaler: &Value) -> Value {
    let mut converted = scaler.clone();
    convert_builtin(&mut converted, "autoscaling/v2");
    converted
}

/// The target needs an API group, unless it is a ReplicationController or an update keeps it.
fn allowed_for_target(target: &Value, old: Option<&Value>) -> AllowedApiVersion {
    let is_same = |old: &Value| {
        let before = old.at("/spec/scaleTargetRef");
        before.text("/apiVersion") == target.text("/apiVersion")
            && before.text("/kind") == target.text("/kind")
    };
    if old.is_some_and(is_same) {
        AllowedApiVersion::Any
    } else if target.text("/kind") == "ReplicationController" {
        AllowedApiVersion::WithOrWithoutGroup
    } else {
        AllowedApiVersion::WithGroup
    }
}

fn allowed_for_metrics(old: Option<&Value>) -> AllowedApiVersion {
    let allowed = AllowedApiVersion::WithOrWithoutGroup;
    let is_invalid = |metric: &Value| {
        let object = metric.at("/object");
        metric.text("/type") == "Object"
            && !object.is_null()
            && api_version_error(object.text("/describedObject/apiVersion"), allowed).is_some()
    };
    match old.is_some_and(|old| old.list("/spec/metrics").iter().any(is_invalid)) {
        true => AllowedApiVersion::Any,
        false => allowed,
    }
}

fn api_version_error(api_version: &str, allowed: AllowedApiVersion) -> Option<String> {
    let group = match api_version.matches('/').count() {
        _ if allowed == AllowedApiVersion::Any => return None,
        0 => "",
        1 => api_version.split('/').next().unwrap_or_default(),
        _ => return Some(format!("unexpected GroupVersion string: {api_version}")),
    };
    (allowed == AllowedApiVersion::WithGroup && group.is_empty())
        .then(|| "apiVersion must specify API group".into())
}

/// Validates a `CrossVersionObjectReference`.
fn reference(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    reference: &Value,
    allowed: AllowedApiVersion,
) {
    for (field, text) in [
        ("kind", reference.text("/kind")),
        ("name", reference.text("/name")),
    ] {
        path_segment(errors, &path.child(field), text, "");
    }
    let api_version = reference.text("/apiVersion");
    if let Some(message) = api_version_error(api_version, allowed) {
        errors.invalid(&path.child("apiVersion"), api_version, message);
    }
}

fn path_segment(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str, required: &str) {
    match text {
        "" => errors.required(path, required),
        text => {
            let messages = object_names::path_segment_name(text, false);
            errors.invalid_for_each(path, text, messages);
        }
    }
}

/// The types of metrics with their fields, in the order of validation.
const METRIC_TYPES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

fn validate_metric(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    metric: &Value,
    allowed: AllowedApiVersion,
) {
    let kind = metric.text("/type");
    let type_path = path.child("type");
    let mut known = METRIC_TYPES.map(|(kind, _)| kind);
    known.sort_unstable();
    if kind.is_empty() {
        errors.required(&type_path, "must specify a metric source type");
    }
    errors.one_of(&type_path, kind, &known);
    let source = |field: &str| metric.get(field).filter(|s| !s.is_null());
    let present: Vec<&str> = METRIC_TYPES
        .iter()
        .map(|(_, field)| *field)
        .filter(|field| source(field).is_some())
        .collect();
    if let Some(field) = present.first()
        && let Some(source) = source(field)
    {
        validate_source(errors, &path.child(field), field, source, allowed);
    }
    let expected = METRIC_TYPES.iter().find(|(known, _)| *known == kind);
    match expected {
        Some((_, field)) if !present.contains(field) => {
            let detail = "must populate information for the given metric source";
            errors.required(&path.child(field), detail);
        }
        Some(_) => {}
        None => errors.one_of(&type_path, kind, &known),
    }
    if present.len() != 1 {
        for field in present {
            if expected.is_none_or(|(_, expected)| *expected != field) {
                let detail = "must populate the given metric source only";
                errors.forbidden(&path.child(field), detail);
            }
        }
    }
}

fn validate_source(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    field: &str,
    source: &Value,
    allowed: AllowedApiVersion,
) {
    let target = source.at("/target");
    let target_path = path.child("target");
    let (value, average) = (target.has("/value"), target.has("/averageValue"));
    let utilization = target.has("/averageUtilization");
    if field == "object" {
        let object = source.at("/describedObject");
        reference(errors, &path.child("describedObject"), object, allowed);
    }
    match field {
        "resource" | "containerResource" => {
            let (name, at) = (source.text("/name"), path.child("name"));
            match name {
                "" => errors.required(&at, "must specify a resource name"),
                name if field == "containerResource" => {
                    resource_validation::container_resource_name(errors, &at, name);
                }
                _ => {}
            }
        }
        _ => {
            let metric = path.child("metric");
            let name = source.text("/metric/name");
            path_segment(
                errors,
                &metric.child("name"),
                name,
                "must specify a metric name",
            );
        }
    }
    if field == "containerResource" {
        let at = path.child("container");
        match source.text("/container") {
            "" => errors.required(&at, "must specify a container"),
            name => errors.invalid_for_each(&at, name, name_validation::dns1123_label(name)),
        }
    }
    validate_target(errors, &target_path, target);
    let average_path = target_path.child("averageValue");
    match field {
        "object" if !value && !average => {
            errors.required(
                &average_path,
                "must set either a target value or averageValue",
            );
        }
        "external" if !value && !average => errors.required(
            &average_path,
            "must set either a target value for metric or a per-pod target",
        ),
        "external" if value && average => errors.forbidden(
            &target_path.child("value"),
            "may not set both a target value for metric and a per-pod target",
        ),
        "pods" if !average => {
            errors.required(&average_path, "must specify a positive target averageValue");
        }
        "resource" | "containerResource" if !utilization && !average => errors.required(
            &target_path.child("averageUtilization"),
            "must set either a target raw value or a target utilization",
        ),
        "resource" | "containerResource" if utilization && average => errors.forbidden(
            &average_path,
            "may not set both a target raw value and a target utilization",
        ),
        _ => {}
    }
}

fn validate_target(errors: &mut ErrorList, path: &FieldPath<'_>, target: &Value) {
    let (kind, type_path) = (target.text("/type"), path.child("type"));
    if kind.is_empty() {
        errors.required(&type_path, "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.invalid(&type_path, kind, detail);
    }
    for field in ["value", "averageValue"] {
        if let Some(quantity) = target.get(field).and_then(Quantity::of)
            && !quantity.is_positive()
        {
            errors.invalid(&path.child(field), quantity.to_string(), "must be positive");
        }
    }
    if let Some(utilization) = target.at("/averageUtilization").as_i64()
        && utilization < 1
    {
        let at = path.child("averageUtilization");
        errors.invalid(&at, utilization, "must be greater than 0");
    }
}

/// The maximum `periodSeconds` of a policy.
const MAX_PERIOD: i64 = 1800;
/// The maximum `stabilizationWindowSeconds`.
const MAX_STABILIZATION_WINDOW: i64 = 3600;

/// Validates the scaling rules of one direction.
fn validate_rules(errors: &mut ErrorList, path: &FieldPath<'_>, rules: &Value) {
    let window = rules.int("/stabilizationWindowSeconds");
    let at = path.child("stabilizationWindowSeconds");
    if window < 0 {
        errors.invalid(&at, window, "must be greater than or equal to zero");
    }
    if window > MAX_STABILIZATION_WINDOW {
        let detail = format!("must be less than or equal to {MAX_STABILIZATION_WINDOW}");
        errors.invalid(&at, window, detail);
    }
    if rules.has("/selectPolicy") {
        let known = ["Disabled", "Max", "Min"];
        errors.one_of(
            &path.child("selectPolicy"),
            rules.text("/selectPolicy"),
            &known,
        );
    }
    let all = path.child("policies");
    if rules.list("/policies").is_empty() {
        errors.required(&all, "must specify at least one Policy");
    }
    for (i, policy) in rules.list("/policies").iter().enumerate() {
        let path = all.index(i);
        errors.one_of(
            &path.child("type"),
            policy.text("/type"),
            &["Percent", "Pods"],
        );
        for field in ["value", "periodSeconds"] {
            let number = policy
                .get(field)
                .and_then(Value::as_i64)
                .unwrap_or_default();
            if number <= 0 {
                errors.invalid(&path.child(field), number, "must be greater than zero");
            }
        }
        let period = policy.int("/periodSeconds");
        if period > MAX_PERIOD {
            let detail = format!("must be less than or equal to {MAX_PERIOD}");
            errors.invalid(&path.child("periodSeconds"), period, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_testing::texts;

    fn scaler(target: Value, metrics: Value) -> Value {
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "spec": {"scaleTargetRef": target, "maxReplicas": 3, "metrics": metrics},
        })
    }

    fn deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"})
    }

    #[test]
    fn the_target_has_an_api_group() {
        let errors = |target: Value| texts(&validate(&scaler(target, json!([])), None));
        let without = json!({"apiVersion": "v1", "kind": "Deployment", "name": "d"});
        let message = "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group";
        assert_eq!(errors(deployment()), [""; 0]);
        assert_eq!(errors(without.clone()), [message]);
        assert_eq!(
            errors(json!({"apiVersion": "v1", "kind": "ReplicationController", "name": "r"})),
            [""; 0]
        );
        assert_eq!(
            errors(json!({"apiVersion": "a/b/c", "name": "a/b"})),
            [
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'",
                "spec.scaleTargetRef.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
            ]
        );
        // An update that keeps the target is valid.
        let stored = scaler(without, json!([]));
        assert_eq!(texts(&validate(&stored, Some(&stored))), [""; 0]);
        let update = validate(&stored, Some(&scaler(deployment(), json!([]))));
        assert_eq!(texts(&update), [message]);
    }

    #[test]
    fn metrics_have_one_source_with_a_target() {
        let errors = |metric: Value| texts(&validate(&scaler(deployment(), json!([metric])), None));
        let utilization = |n: i64| json!({"type": "Utilization", "averageUtilization": n});
        assert_eq!(
            errors(
                json!({"type": "Resource", "resource": {"name": "cpu", "target": utilization(50)}})
            ),
            [""; 0]
        );
        assert_eq!(
            errors(json!({"type": "Pods", "resource": {"name": "", "target": utilization(0)}})),
            [
                "spec.metrics[0].resource.name: Required value: must specify a resource name",
                "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
                "spec.metrics[0].pods: Required value: must populate information for the given metric source",
            ]
        );
        assert_eq!(
            errors(json!({
                "type": "External",
                "external": {"metric": {"name": "m"}, "target": {"type": "Odd", "value": "0", "averageValue": "1"}},
                "pods": {},
            })),
            [
                "spec.metrics[0].external.target.type: Invalid value: \"Odd\": must be either Utilization, Value, or AverageValue",
                "spec.metrics[0].external.target.value: Invalid value: \"0\": must be positive",
                "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
                "spec.metrics[0].pods: Forbidden: must populate the given metric source only",
            ]
        );
        let known = "supported values: \"ContainerResource\", \"External\", \"Object\", \"Pods\", \"Resource\"";
        let unknown = format!("spec.metrics[0].type: Unsupported value: \"Odd\": {known}");
        assert_eq!(errors(json!({"type": "Odd"})), [unknown.clone(), unknown]);
    }

    #[test]
    fn version_1_is_validated_as_version_2() {
        let object = json!({
            "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
            "spec": {
                "scaleTargetRef": deployment(), "minReplicas": 0, "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 0,
            },
        });
        assert_eq!(
            texts(&validate(&object, None)),
            [
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
                "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
            ]
        );
    }

    #[test]
    fn behavior_is_defaulted_and_validated() {
        let mut object = scaler(deployment(), json!([]));
        object["spec"]["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
        default(&mut object);
        assert_eq!(
            object["spec"]["behavior"],
            json!({
                "scaleUp": {
                    "stabilizationWindowSeconds": 0, "selectPolicy": "Max",
                    "policies": [
                        {"type": "Pods", "value": 4, "periodSeconds": 15},
                        {"type": "Percent", "value": 100, "periodSeconds": 15},
                    ],
                },
                "scaleDown": {
                    "stabilizationWindowSeconds": 60, "selectPolicy": "Max",
                    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
                },
            })
        );
        assert_eq!(texts(&validate(&object, None)), [""; 0]);
        object["spec"]["behavior"] = json!({
            "scaleUp": {"stabilizationWindowSeconds": 3601, "selectPolicy": "Odd", "policies": []},
            "scaleDown": {"policies": [{"type": "Odd", "value": 0, "periodSeconds": 1801}]},
        });
        let at = "spec.behavior.scaleUp";
        let policy = "spec.behavior.scaleDown.policies[0]";
        assert_eq!(
            texts(&validate(&object, None)),
            [
                format!(
                    "{at}.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"
                ),
                format!(
                    "{at}.selectPolicy: Unsupported value: \"Odd\": supported values: \"Disabled\", \"Max\", \"Min\""
                ),
                format!("{at}.policies: Required value: must specify at least one Policy"),
                format!(
                    "{policy}.type: Unsupported value: \"Odd\": supported values: \"Percent\", \"Pods\""
                ),
                format!("{policy}.value: Invalid value: 0: must be greater than zero"),
                format!(
                    "{policy}.periodSeconds: Invalid value: 1801: must be less than or equal to 1800"
                ),
            ]
        );
    }
}
