//! HorizontalPodAutoscalers: defaults, and the limits of replicas, which the controller applies. Other fields are not
//! validated.

use serde_json::{Value, json};

use crate::builtin_strategy::BuiltinStrategy;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    set_defaults: default,
    prepare_for_create: |scaler| {
        scaler["status"] = json!({"desiredReplicas": 0, "currentMetrics": null});
    },
    validate_create: |new| validate(new, 1),
    validate_update: |new, old| validate(new, old.int("/spec/minReplicas").clamp(0, 1)),
    ..BuiltinStrategy::DEFAULT
};

const SPEC: FieldPath<'_> = FieldPath::root("spec");

/// Validates the limits of replicas.
fn validate(scaler: &Value, lowest: i64) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = scaler.at("/spec");
    let (min, max) = (spec.at("/minReplicas").as_i64(), spec.int("/maxReplicas"));
    if let Some(min) = min.filter(|min| *min < lowest) {
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
    errors.0
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_testing::texts;

    #[test]
    fn the_limits_of_replicas() {
        let scaler = |min: i64, max: i64| json!({"spec": {"minReplicas": min, "maxReplicas": max}});
        let create = |min, max| texts(&(STRATEGY.validate_create)(&scaler(min, max)));
        assert_eq!(create(1, 1), [""; 0]);
        assert_eq!(
            create(0, -1),
            [
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                "spec.maxReplicas: Invalid value: -1: must be greater than 0",
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
            ]
        );
        let update = (STRATEGY.validate_update)(&scaler(0, 2), &scaler(0, 3));
        assert_eq!(texts(&update), [""; 0]);
    }
}
