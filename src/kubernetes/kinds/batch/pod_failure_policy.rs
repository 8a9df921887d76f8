//! Validation of `spec.podFailurePolicy` of a Job.

use std::collections::HashSet;

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::name_validation;
use kueue_lab_json::ValueExt;

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

/// Validates a pod failure policy.
pub(super) fn pod_failure_policy(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    let rules = spec.list("/podFailurePolicy/rules");
    let rules_path = path.child("rules");
    errors.at_most(&rules_path, rules.len(), 20);
    let template = spec.at("/template/spec");
    let containers = template
        .list("/containers")
        .iter()
        .chain(template.list("/initContainers"));
    let names: HashSet<&str> = containers.map(|c| c.text("/name")).collect();
    for (i, rule) in rules.iter().enumerate() {
        let path = rules_path.index(i);
        let action = rule.text("/action");
        let action_path = path.child("action");
        match action {
            "" => {
                let quoted: Vec<String> = ACTIONS.iter().map(|a| format!("{a:?}")).collect();
                errors.required(
                    &action_path,
                    &format!("valid values: [{}]", quoted.join(" ")),
                );
            }
            "FailIndex" if !spec.has("/backoffLimitPerIndex") => {
                errors.invalid(
                    &action_path,
                    action,
                    "requires the backoffLimitPerIndex to be set",
                );
            }
            other => errors.one_of(&action_path, other, &ACTIONS),
        }
        let codes = rule.has("/onExitCodes");
        let conditions = rule.list("/onPodConditions");
        if codes {
            exit_codes(
                errors,
                &path.child("onExitCodes"),
                rule.at("/onExitCodes"),
                &names,
            );
        }
        pod_conditions(errors, &path.child("onPodConditions"), conditions);
        if codes && !conditions.is_empty() {
            let detail = "specifying both OnExitCodes and OnPodConditions is not supported";
            errors.invalid_without_value(&path, detail);
        }
        if !codes && conditions.is_empty() {
            let detail = "specifying one of OnExitCodes and OnPodConditions is required";
            errors.invalid_without_value(&path, detail);
        }
    }
}

fn exit_codes(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    codes: &Value,
    containers: &HashSet<&str>,
) {
    let operator = codes.text("/operator");
    match operator {
        "" => errors.required(&path.child("operator"), "valid values: [\"In\" \"NotIn\"]"),
        other => errors.one_of(&path.child("operator"), other, &["In", "NotIn"]),
    }
    let container = codes.text("/containerName");
    if codes.has("/containerName") && !containers.contains(container) {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.invalid(&path.child("containerName"), container, detail);
    }
    let values: Vec<i64> = codes
        .list("/values")
        .iter()
        .filter_map(Value::as_i64)
        .collect();
    let values_path = path.child("values");
    if values.is_empty() {
        errors.invalid(
            &values_path,
            codes.at("/values").clone(),
            "at least one value is required",
        );
    }
    errors.at_most(&values_path, values.len(), 255);
    let mut seen = HashSet::new();
    for (i, value) in values.iter().enumerate() {
        let path = values_path.index(i);
        if operator == "In" && *value == 0 {
            errors.invalid(&path, 0, "must not be 0 for the In operator");
        }
        if !seen.insert(*value) {
            errors.duplicate(&path, *value);
        }
    }
    if !values.is_sorted() {
        errors.invalid(&values_path, codes.at("/values").clone(), "must be ordered");
    }
}

fn pod_conditions(errors: &mut ErrorList, path: &FieldPath<'_>, patterns: &[Value]) {
    errors.at_most(path, patterns.len(), 20);
    for (i, pattern) in patterns.iter().enumerate() {
        let path = path.index(i);
        let kind = pattern.text("/type");
        errors.invalid_for_each(
            &path.child("type"),
            kind,
            name_validation::qualified_name(kind),
        );
        match pattern.text("/status") {
            "" => {
                let detail = "valid values: [\"False\" \"True\" \"Unknown\"]";
                errors.required(&path.child("status"), detail);
            }
            other => errors.one_of(&path.child("status"), other, &["False", "True", "Unknown"]),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::batch) fn texts(
        check: fn(&mut ErrorList, &FieldPath<'_>, &Value),
        spec: Value,
    ) -> Vec<String> {
        let mut errors = ErrorList::default();
        check(&mut errors, &FieldPath::root("p"), &spec);
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn failure_rules() {
        let spec = |rule: Value| json!({"podFailurePolicy": {"rules": [rule]}, "template": {"spec": {"containers": [{"name": "c"}]}}});
        let fine = json!({"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [42]}});
        assert!(texts(pod_failure_policy, spec(fine)).is_empty());
        let bad = json!({"action": "Odd", "onExitCodes": {"containerName": "d", "operator": "In", "values": [3, 0, 3]}});
        assert_eq!(
            texts(pod_failure_policy, spec(bad)),
            [
                r#"p.rules[0].action: Unsupported value: "Odd": supported values: "Count", "FailIndex", "FailJob", "Ignore""#,
                r#"p.rules[0].onExitCodes.containerName: Invalid value: "d": must be one of the container or initContainer names in the pod template"#,
                "p.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
                "p.rules[0].onExitCodes.values[2]: Duplicate value: 3",
                "p.rules[0].onExitCodes.values: Invalid value: [3,0,3]: must be ordered",
            ]
        );
        let none = json!({"action": "Count"});
        assert_eq!(
            texts(pod_failure_policy, spec(none)),
            [
                "p.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"
            ]
        );
    }
}
