//! Validation of Job updates: immutable fields and their exceptions.

use serde_json::Value;

use super::job::{NAME_LABELS, SPEC, generated_selector, validate_job_spec};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Validates an update of a Job.
pub(super) fn validate(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let prefixed = old
        .at("/spec/template/metadata/labels")
        .get(NAME_LABELS[1])
        .is_some();
    generated_selector(&mut errors, new, prefixed);
    validate_job_spec(&mut errors, new.at("/spec"));
    let (spec, before) = (new.at("/spec"), old.at("/spec"));
    completions(&mut errors, spec, before);
    if spec.at("/selector") != before.at("/selector") {
        let shown = labels::go_selector_string(spec.at("/selector"));
        errors.invalid_with_text(&SPEC.child("selector"), shown, "field is immutable");
    }
    template(&mut errors, new, old);
    for field in [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        let of = |spec: &Value| spec.get(field).cloned().unwrap_or_default();
        errors.immutable(&SPEC.child(field), &of(spec), &of(before));
    }
    errors.0
}

fn completions(errors: &mut ErrorList, spec: &Value, before: &Value) {
    let path = SPEC.child("completions");
    let (now, then) = (spec.at("/completions"), before.at("/completions"));
    if spec.text("/completionMode") != "Indexed" {
        errors.immutable(&path, now, then);
    } else if now != then && !now.is_null() && now != spec.at("/parallelism") {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.invalid(&path, now.clone(), detail);
    }
}

/// Validates that `spec.template` is immutable. Scheduling directives and container resources are
/// mutable while the Job is suspended and has no active pods.
fn template(errors: &mut ErrorList, new: &Value, old: &Value) {
    let suspended = old.flag("/spec/suspend");
    let idle = old.int("/status/active") == 0
        && (!old.has("/status/startTime") || old.is_condition_true("Suspended"));
    let after = new.at("/spec/template");
    let mut before = old.at("/spec/template").clone();
    if suspended && idle {
        copy_scheduling_directives(&mut before, after);
        copy_container_resources(&mut before, after);
        if before.at("/spec") != after.at("/spec") {
            let path = SPEC.child("template.spec");
            errors.invalid(&path, after.at("/spec").clone(), "field is immutable");
        }
        return;
    }
    if before != *after {
        let path = SPEC.child("template");
        errors.invalid(&path, after.clone(), "field is immutable");
    }
}

/// Copies the mutable scheduling directives of the pod template from `after` to `before`.
fn copy_scheduling_directives(before: &mut Value, after: &Value) {
    for field in ["annotations", "labels"] {
        let now = after.at("/metadata").get(field).cloned();
        before.object_mut("metadata").set_or_remove(field, now);
    }
    let spec = before.object_mut("spec");
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        spec.set_or_remove(field, after.at("/spec").get(field).cloned());
    }
    let node = after.at("/spec/affinity/nodeAffinity");
    match (after.has("/spec/affinity"), spec.has("/affinity")) {
        (false, false) => {}
        (false, true) => {
            spec.object_mut("affinity").remove_key("nodeAffinity");
            if spec.entries("/affinity").next().is_none() {
                spec.remove_key("affinity");
            }
        }
        (true, _) => {
            let node = (!node.is_null()).then(|| node.clone());
            spec.object_mut("affinity")
                .set_or_remove("nodeAffinity", node);
        }
    }
}

/// Copies the resources of containers from `after` to `before`, matched by position and name.
fn copy_container_resources(before: &mut Value, after: &Value) {
    let spec = before.object_mut("spec");
    for list in ["containers", "initContainers"] {
        let wanted = after.at("/spec").list(&format!("/{list}"));
        if spec.items_mut(list).len() != wanted.len() {
            continue;
        }
        for (c, wanted) in spec.items_mut(list).iter_mut().zip(wanted) {
            if c.text("/name") == wanted.text("/name") {
                c.set_or_remove("resources", wanted.get("resources").cloned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::job::tests::job;
    use super::*;
    use kueue_lab_testing::texts;

    #[test]
    fn mutable_fields() {
        let change = |old: Value, patch: Value| {
            let mut new = old.clone();
            json_patch::merge(&mut new, &patch);
            texts(validate(&new, &old))
                .into_iter()
                .map(|t| t.chars().take(60).collect())
                .collect::<Vec<String>>()
        };
        let selector = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}});
        let none: Vec<String> = Vec::new();
        assert_eq!(
            change(job(json!({"suspend": true})), selector.clone()),
            none
        );
        assert_eq!(
            change(
                job(json!({})),
                json!({"spec": {"parallelism": 7, "suspend": true}})
            ),
            none
        );
        let running = change(job(json!({})), selector.clone());
        assert!(
            running[0].starts_with(r#"spec.template: Invalid value: {"metadata":{"labels":"#),
            "{running:?}"
        );
        let mut started = job(json!({"suspend": true}));
        started["status"] = json!({"startTime": "t", "active": 1});
        assert_eq!(change(started.clone(), selector.clone()).len(), 1);
        started["status"] = json!({"active": 1});
        assert_eq!(change(started.clone(), selector.clone()).len(), 1);
        started["status"] =
            json!({"startTime": "t", "conditions": [{"type": "Suspended", "status": "True"}]});
        assert_eq!(change(started, selector), none);
        let old = job(json!({"suspend": true}));
        let mut new = old.clone();
        new["spec"]["template"]["spec"]["containers"][0]["image"] = "y".into();
        let image = texts(validate(&new, &old));
        assert!(
            image[0]
                .starts_with(r#"spec.template.spec: Invalid value: {"containers":[{"image":"y""#),
            "{image:?}"
        );
        let elastic = job(json!({"completionMode": "Indexed", "completions": 3, "parallelism": 3}));
        assert_eq!(
            change(
                elastic.clone(),
                json!({"spec": {"completions": 4, "parallelism": 4}})
            ),
            none
        );
        assert_eq!(
            change(elastic, json!({"spec": {"completions": 9}})),
            ["spec.completions: Invalid value: 9: can only be modified in "]
        );
        assert_eq!(
            change(job(json!({})), json!({"spec": {"managedBy": "x.y/z"}})),
            [r#"spec.managedBy: Invalid value: "x.y/z": field is immutable"#]
        );
    }
}
