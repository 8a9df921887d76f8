//! PodDisruptionBudgets.

use serde_json::{Value, json};

use crate::builtin_strategy::BuiltinStrategy;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_apimachinery::strategy::table_cells::scalar;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

pub(super) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    prepare_for_create: |budget| {
        budget["status"] = json!({
            "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0,
        });
    },
    validate_create: checks,
    validate_update: |new, _| checks(new),
    generation_fields: &["spec"],
    ..BuiltinStrategy::DEFAULT
};

const SPEC: FieldPath<'_> = FieldPath::root("spec");

fn checks(budget: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = budget.at("/spec");
    if spec.has("/minAvailable") && spec.has("/maxUnavailable") {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.invalid(&SPEC, spec.clone(), detail);
    }
    for field in ["minAvailable", "maxUnavailable"] {
        let value = spec.get(field).unwrap_or(&Value::Null);
        let path = SPEC.child(field);
        match value {
            Value::String(text) => {
                errors.invalid_for_each(&path, text, name_validation::percent(text));
                let percent: Option<u64> = text.strip_suffix('%').and_then(|n| n.parse().ok());
                if percent.is_some_and(|n| n > 100) {
                    errors.invalid(&path, scalar(value), "must not be greater than 100%");
                }
            }
            Value::Number(n) if n.as_i64().is_some_and(|n| n < 0) => {
                errors.invalid(&path, value.clone(), "must be greater than or equal to 0");
            }
            _ => {}
        }
    }
    errors.extend(labels::validate_selector(
        spec.at("/selector"),
        "spec.selector",
    ));
    if spec.has("/unhealthyPodEvictionPolicy") {
        let path = SPEC.child("unhealthyPodEvictionPolicy");
        let policy = spec.text("/unhealthyPodEvictionPolicy");
        errors.one_of(&path, policy, &["AlwaysAllow", "IfHealthyBudget"]);
    }
    errors.0
}
