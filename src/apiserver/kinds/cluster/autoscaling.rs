//! Horizontal pod autoscalers.

use serde_json::{Value, json};

use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::kinds::meta::names;
use crate::kinds::rules::Rules;
use crate::kinds::value::{Fill, Look};

pub(super) const RULES: Rules = Rules {
    default,
    prepare_create: |scaler| {
        scaler["status"] = json!({"desiredReplicas": 0, "currentMetrics": null});
    },
    create: checks,
    update: |new, _| checks(new),
    ..Rules::PLAIN
};

const SPEC: Path<'_> = Path::root("spec");

/// The second version lists its metrics; the first has one number of its own.
fn default(scaler: &mut Value) {
    let second = scaler.text("/apiVersion") != "autoscaling/v1";
    let Some(spec) = scaler.child_if("spec") else {
        return;
    };
    spec.or_set("minReplicas", 1);
    if second && spec.list("/metrics").is_empty() {
        let cpu = json!({"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
        spec.put("metrics", Some(json!([cpu])));
    }
}

fn checks(scaler: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
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
                let complaints = names::path_segment(text, false);
                errors.complaints(&path.child(field), text, complaints);
            }
        }
    }
    errors.0
}
