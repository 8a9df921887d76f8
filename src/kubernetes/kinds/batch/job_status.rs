//! Validation of Job status updates: conditions and counters must be consistent.

use std::collections::HashSet;

use serde_json::Value;

use super::completion_indexes;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

const STATUS: FieldPath<'_> = FieldPath::root("status");

/// Validates an update of a Job's status.
pub(super) fn validate(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let status = new.at("/status");
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        errors.not_negative(&STATUS, status, field);
    }
    validate_uncounted_terminated_pods(&mut errors, status);
    validate_finished(&mut errors, new, old);
    index_sets(&mut errors, new, old);
    counters(&mut errors, new, old);
    transitions(&mut errors, new, old);
    errors.0
}

fn validate_uncounted_terminated_pods(errors: &mut ErrorList, status: &Value) {
    let path = STATUS.child("uncountedTerminatedPods");
    let mut seen = HashSet::new();
    for field in ["succeeded", "failed"] {
        let list = status
            .at("/uncountedTerminatedPods")
            .list(&format!("/{field}"));
        let path = path.child(field);
        for (i, uid) in list.iter().filter_map(Value::as_str).enumerate() {
            let path = path.index(i);
            if uid.is_empty() {
                errors.invalid(&path, "", "must not be empty");
            } else if !seen.insert(uid) {
                errors.duplicate(&path, uid);
            }
        }
    }
}

/// Validates the status fields of a finished Job. A rule that the old status already violates does
/// not block the update.
fn validate_finished(errors: &mut ErrorList, new: &Value, old: &Value) {
    let status = new.at("/status");
    let (complete, failed) = (
        new.is_condition_true("Complete"),
        new.is_condition_true("Failed"),
    );
    let finished = complete || failed;
    let conditions = STATUS.child("conditions");
    let newly =
        |condition: &str| new.is_condition_true(condition) && !old.is_condition_true(condition);
    let (completes, fails) = (newly("Complete"), newly("Failed"));
    let finishes = completes || fails;
    if complete && failed {
        errors.invalid_without_value(
            &conditions,
            "cannot set Complete=True and Failed=true conditions",
        );
    }
    if complete && new.is_condition_true("FailureTarget") {
        let detail = "cannot set Complete=True and FailureTarget=true conditions";
        errors.invalid_without_value(&conditions, detail);
    }
    let time = STATUS.child("completionTime");
    let end = status.at("/completionTime");
    if !end.is_null() && !complete {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.invalid(&time, end.clone(), detail);
    }
    if end.is_null() && complete && completes {
        errors.required(&time, "completionTime is required for Complete jobs");
    }
    let start = status.at("/startTime");
    if let (Some(start), Some(end)) = (start.as_str(), end.as_str())
        && end < start
    {
        errors.invalid(&time, end, "must be equal to or after `startTime`");
    }
    if failed && fails && !new.is_condition_true("FailureTarget") {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        errors.invalid_without_value(&conditions, detail);
    }
    if complete && completes && !new.is_condition_true("SuccessCriteriaMet") {
        let detail =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        errors.invalid_without_value(&conditions, detail);
    }
    if finishes && status.int("/active") > 0 {
        let detail = "active>0 is invalid for finished job";
        errors.invalid(&STATUS.child("active"), status.int("/active"), detail);
    }
    if finishes && start.is_null() {
        errors.required(
            &STATUS.child("startTime"),
            "startTime is required for finished job",
        );
    }
    let waiting = status.at("/uncountedTerminatedPods");
    let some = !waiting.list("/failed").is_empty() || !waiting.list("/succeeded").is_empty();
    if finished && some {
        let path = STATUS.child("uncountedTerminatedPods");
        errors.invalid(&path, waiting.clone(), "must be empty for finished job");
    }
}

fn index_sets(errors: &mut ErrorList, new: &Value, old: &Value) {
    let (status, spec) = (new.at("/status"), new.at("/spec"));
    let completions = spec.at("/completions").as_i64();
    let done = status.text("/completedIndexes");
    let lost = status.at("/failedIndexes").as_str();
    let changed = |field: &str| status.get(field) != old.at("/status").get(field);
    if let Some(all) = completions
        && changed("completedIndexes")
        && let Err(why) = completion_indexes::count(done, all)
    {
        let path = STATUS.child("completedIndexes");
        errors.invalid(
            &path,
            done,
            format!("error parsing completedIndexes: {why}"),
        );
    }
    let path = STATUS.child("failedIndexes");
    if let (Some(all), Some(lost)) = (completions, lost)
        && spec.has("/backoffLimitPerIndex")
        && changed("failedIndexes")
        && let Err(why) = completion_indexes::count(lost, all)
    {
        errors.invalid(&path, lost, format!("error parsing failedIndexes: {why}"));
    }
    if !done.is_empty() && spec.text("/completionMode") != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.invalid(&STATUS.child("completedIndexes"), done, detail);
    }
    if let Some(lost) = lost
        && !spec.has("/backoffLimitPerIndex")
    {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.invalid(&path, lost, detail);
    }
    if let (Some(all), Some(lost)) = (completions, lost)
        && let (Ok(done), Ok(failed)) = (
            completion_indexes::intervals(done, all),
            completion_indexes::intervals(lost, all),
        )
    {
        // Both lists are in order: the first interval that does not end before `f` is the only
        // candidate.
        let common = failed.iter().find_map(|f| {
            let at = done.partition_point(|d| d.1 < f.0);
            let d = done.get(at).filter(|d| d.0 <= f.1)?;
            Some(d.0.max(f.0))
        });
        if let Some(index) = common {
            let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
            errors.invalid(&path, lost, detail);
        }
    }
}

fn counters(errors: &mut ErrorList, new: &Value, old: &Value) {
    let status = new.at("/status");
    let finished = new.is_condition_true("Complete") || new.is_condition_true("Failed");
    let terminating = status.int("/terminating");
    if terminating > 0 && finished {
        let detail = "terminating>0 is invalid for finished job";
        errors.invalid(&STATUS.child("terminating"), terminating, detail);
    }
    let (ready, active) = (status.at("/ready").as_i64(), status.int("/active"));
    if let Some(ready) = ready
        && ready > active
    {
        errors.invalid(
            &STATUS.child("ready"),
            ready,
            "cannot set more ready pods than active",
        );
    }
    let conditions = STATUS.child("conditions");
    if new.is_condition_true("SuccessCriteriaMet") {
        for other in ["Failed", "FailureTarget"] {
            if new.is_condition_true(other) {
                let detail =
                    format!("cannot set SuccessCriteriaMet=True and {other}=true conditions");
                errors.invalid_without_value(&conditions, detail);
            }
        }
    }
    for (field, what) in [("failed", "failed"), ("succeeded", "succeeded")] {
        let pointer = format!("/status/{field}");
        if new.int(&pointer) < old.int(&pointer) {
            let detail = format!("cannot decrease the {what} counter");
            errors.invalid(&STATUS.child(field), new.int(&pointer), detail);
        }
    }
}

fn transitions(errors: &mut ErrorList, new: &Value, old: &Value) {
    let conditions = STATUS.child("conditions");
    for terminal in ["Failed", "Complete", "FailureTarget"] {
        if old.is_condition_true(terminal) && !new.is_condition_true(terminal) {
            let detail = format!("cannot disable the terminal {terminal}=True condition");
            errors.invalid_without_value(&conditions, detail);
        }
    }
    let (end, ended) = (
        new.at("/status/completionTime"),
        old.at("/status/completionTime"),
    );
    if !end.is_null() && !ended.is_null() {
        errors.immutable(&STATUS.child("completionTime"), end, ended);
    }
    let (start, started) = (new.at("/status/startTime"), old.at("/status/startTime"));
    if !started.is_null() && start != started && !new.flag("/spec/suspend") {
        let detail = "startTime cannot be removed for unsuspended job";
        errors.required(&STATUS.child("startTime"), detail);
    }
    if old.is_condition_true("SuccessCriteriaMet") && !new.is_condition_true("SuccessCriteriaMet") {
        let detail = "cannot disable the SuccessCriteriaMet=True condition";
        errors.invalid_without_value(&conditions, detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(new: Value, old: Value) -> Vec<String> {
        validate(
            &json!({"status": new, "spec": {"suspend": false}}),
            &json!({"status": old, "spec": {}}),
        )
        .iter()
        .map(ToString::to_string)
        .collect()
    }

    #[test]
    fn inconsistent_finished_conditions() {
        let on = |t: &str| json!({"type": t, "status": "True"});
        assert_eq!(
            texts(
                json!({"conditions": [on("Complete"), on("Failed")]}),
                json!({})
            ),
            [
                "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
                "status.completionTime: Required value: completionTime is required for Complete jobs",
                "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition",
                "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
                "status.startTime: Required value: startTime is required for finished job",
            ]
        );
        assert_eq!(
            texts(json!({"active": -1}), json!({})),
            ["status.active: Invalid value: -1: must be greater than or equal to 0"]
        );
        let done = json!({"conditions": [on("SuccessCriteriaMet"), on("Complete")], "startTime": "2026-01-01T00:00:00Z",
            "completionTime": "2026-01-01T00:00:01Z", "succeeded": 1, "uncountedTerminatedPods": {}});
        assert!(texts(done.clone(), json!({"startTime": "2026-01-01T00:00:00Z"})).is_empty());
        assert_eq!(
            texts(json!({"startTime": "2026-01-01T00:00:00Z"}), done),
            [
                "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
                "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
                "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
            ]
        );
    }
}
