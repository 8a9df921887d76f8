//! Validation shared by the workload kinds of the `apps` group.

use serde_json::Value;

use crate::pod;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

pub(crate) const SPEC: FieldPath<'_> = FieldPath::root("spec");

/// Validates `spec.selector`: required and not empty.
pub(crate) fn selector(errors: &mut ErrorList, spec: &Value, kind: &str) {
    let path = SPEC.child("selector");
    let selector = spec.at("/selector");
    if selector.is_null() {
        errors.required(&path, "");
        return;
    }
    errors.extend(labels::validate_selector(selector, &path.to_string()));
    if labels::is_empty_selector(selector) {
        let detail = format!("empty selector is invalid for {kind}");
        errors.invalid_with_text(&path, labels::go_selector_string(selector), &detail);
    }
}

/// Validates `spec.template`: its labels match the selector and `restartPolicy` is `Always`.
pub(crate) fn template(errors: &mut ErrorList, spec: &Value, kind: &str) {
    let path = SPEC.child("template");
    let selector = spec.at("/selector");
    let own = spec.at("/template/metadata/labels");
    if !labels::is_empty_selector(selector) && !labels::selector_matches(selector, own) {
        let metadata = path.child("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&metadata.child("labels"), own.clone(), detail);
    }
    pod::validate_template(errors, &path, spec.at("/template"));
    always_restarted(errors, &path, spec.at("/template"), kind);
}

pub(crate) fn always_restarted(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    template: &Value,
    kind: &str,
) {
    let pod = path.child("spec");
    let policy = template.text("/spec/restartPolicy");
    errors.one_of(&pod.child("restartPolicy"), policy, &["Always"]);
    if template.has("/spec/activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(&pod.child("activeDeadlineSeconds"), detail);
    }
}

/// Validates that `spec.selector` is immutable.
pub(crate) fn validate_immutable_selector(errors: &mut ErrorList, new: &Value, old: &Value) {
    if new.at("/spec/selector") != old.at("/spec/selector") {
        let shown = labels::go_selector_string(new.at("/spec/selector"));
        errors.invalid_with_text(&SPEC.child("selector"), shown, "field is immutable");
    }
}

/// Validates that the given counts in `status` are not negative.
pub(crate) fn validate_non_negative_counts(
    errors: &mut ErrorList,
    status: &Value,
    fields: &[&str],
) {
    let path = FieldPath::root("status");
    for field in fields {
        errors.not_negative(&path, status, field);
    }
}

/// Validates a status of replicas: `counts` are not negative, each of `parts` is at most
/// `replicas`, and `availableReplicas` is at most `readyReplicas`, with the message `above_ready`.
pub(crate) fn validate_replica_counts(
    status: &Value,
    counts: &[&str],
    parts: &[&str],
    above_ready: &str,
) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    validate_non_negative_counts(&mut errors, status, counts);
    let above_replicas = "cannot be greater than status.replicas";
    let limits = parts
        .iter()
        .map(|part| (*part, "replicas", above_replicas))
        .chain([("availableReplicas", "readyReplicas", above_ready)]);
    let path = FieldPath::root("status");
    let count = |field: &str| {
        status
            .get(field)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    for (field, limit, detail) in limits {
        if count(field) > count(limit) {
            errors.invalid(&path.child(field), count(field), detail);
        }
    }
    errors.0
}

pub(crate) fn warnings(new: &Value, _old: Option<&Value>) -> Vec<String> {
    pod::spec::warnings(new.at("/spec/template/spec"), "spec.template.spec")
}
