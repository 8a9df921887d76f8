//! HorizontalPodAutoscalers.

use serde_json::{Value, json};

use crate::apimachinery::error_list::ErrorList;
use crate::apimachinery::field_path::FieldPath;
use crate::apimachinery::metadata_validation::name_validation;
use crate::kinds::builtin_strategy::BuiltinStrategy;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    set_defaults: default,
    prepare_for_create: |scaler| {
        scaler["status"] = json!({"desiredReplicas": 0, "currentMetrics": null});
    },
    validate_create: checks,
    validate_update: |new, _| checks(new),
    ..BuiltinStrategy::DEFAULT
};

const SPEC: FieldPath<'_> = FieldPath::root("spec");

/// Sets defaults. `autoscaling/v2` also defaults `metrics` to a CPU utilization of 80%.
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
}

fn checks(scaler: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = scaler.at("/spec");
    let (min, max) = (spec.at("/minReplicas").as_i64(), spec.int("/maxReplicas"));
    if let Some(min) = min
        && min < 1
    {
        let detail = "must be greater than or equal to 1";
        errors.invalid(&SPEC.child("minReplicas"), min, detail);
    }
    let path = SPEC.child("maxReplicas");
    if max < 1 {
        errors.invalid(&path, max, "must be greater than 0");
    }
    if min.is_some_and(|min| max < min) {
        errors.invalid(&path, max, "must be greater than or equal to `minReplicas`");
    }
    let path = SPEC.child("scaleTargetRef");
    for field in ["kind", "name"] {
        match spec
            .at("/scaleTargetRef")
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "" => errors.required(&path.child(field), ""),
            text => {
                let messages = name_validation::path_segment_name(text, false);
                errors.invalid_for_each(&path.child(field), text, messages);
            }
        }
    }
    errors.0
}
