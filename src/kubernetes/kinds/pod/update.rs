//! Validation of pod updates. Images, `activeDeadlineSeconds`, removal of scheduling gates and
//! added tolerations are mutable; the node selector and node affinity of a gated pod may be
//! narrowed.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::scheduling;
use super::strategy::{SPEC, metadata_and_spec};
use crate::changed_fields::changed_fields;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;
use kueue_lab_field::name_validation::inclusive_range_error;
use kueue_lab_json::{ValueExt, ValueMutExt};

const UPDATABLE_FIELDS_MESSAGE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Validates an update of a pod.
pub(super) fn validate(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    metadata_and_spec(&mut errors, new);
    for list in ["containers", "initContainers"] {
        if !same_containers(&mut errors, list, new, old) {
            return errors.0;
        }
    }
    if !deadline(&mut errors, new, old) {
        return errors.0;
    }
    let path = SPEC.child("tolerations");
    only_added_tolerations(&mut errors, &path, new, old);
    only_removed_gates(&mut errors, &SPEC.child("schedulingGates"), new, old);
    if new.at("/spec") != old.at("/spec") {
        validate_other_fields_unchanged(&mut errors, new, old);
    }
    errors.0
}

/// Validates that no containers are added or removed; returns false otherwise.
fn same_containers(errors: &mut ErrorList, list: &str, new: &Value, old: &Value) -> bool {
    let path = SPEC.child(list);
    let pointer = format!("/spec/{list}");
    let (new, old) = (new.list(&pointer), old.list(&pointer));
    if new.len() != old.len() {
        errors.forbidden(&path, "pod updates may not add or remove containers");
        return false;
    }
    for (i, c) in new.iter().enumerate() {
        let entry = path.index(i);
        let image = c.text("/image");
        if image.is_empty() {
            errors.required(&entry.child("image"), "");
        }
        if image.trim() != image {
            let detail = "must not have leading or trailing whitespace";
            errors.invalid(&entry.child("image"), image, detail);
        }
    }
    true
}

/// Validates that `activeDeadlineSeconds` is only set or decreased; returns false if validation
/// must stop.
fn deadline(errors: &mut ErrorList, new: &Value, old: &Value) -> bool {
    let path = SPEC.child("activeDeadlineSeconds");
    let of = |pod: &Value| pod.at("/spec/activeDeadlineSeconds").as_i64();
    let max = i64::from(i32::MAX);
    match (of(new), of(old)) {
        (Some(new), _) if !(0..=max).contains(&new) => {
            errors.invalid(&path, new, inclusive_range_error(0, max));
            false
        }
        (Some(new), Some(old)) if old < new => {
            errors.invalid(&path, new, "must be less than or equal to previous value");
            false
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.invalid(&path, Value::Null, detail);
            true
        }
        _ => true,
    }
}

fn only_added_tolerations(errors: &mut ErrorList, path: &FieldPath<'_>, new: &Value, old: &Value) {
    let list = new.list("/spec/tolerations");
    let without_time = |t: &Value| {
        let mut t = t.clone();
        t.remove_key("tolerationSeconds");
        t
    };
    let now: HashSet<Value> = list.iter().map(without_time).collect();
    let kept = |old: &Value| now.contains(&without_time(old));
    if !old.list("/spec/tolerations").iter().all(kept) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.forbidden(path, detail);
        return;
    }
    scheduling::tolerations(errors, path, list);
}

fn only_removed_gates(errors: &mut ErrorList, path: &FieldPath<'_>, new: &Value, old: &Value) {
    let before: BTreeSet<&str> = old
        .list("/spec/schedulingGates")
        .iter()
        .map(|g| g.text("/name"))
        .collect();
    for (i, gate) in new.list("/spec/schedulingGates").iter().enumerate() {
        let name = gate.text("/name");
        if !before.contains(name) {
            let entry = path.index(i);
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(&entry.child("name"), detail);
        }
    }
}

/// Validates that all other fields of the spec are unchanged.
fn validate_other_fields_unchanged(errors: &mut ErrorList, new: &Value, old: &Value) {
    let old_spec = old.at("/spec");
    let mut munged = new.at("/spec").clone();
    for list in ["containers", "initContainers"] {
        let images: Vec<Value> = old_spec
            .list(&format!("/{list}"))
            .iter()
            .map(|c| c.at("/image").clone())
            .collect();
        for (c, image) in munged.items_mut(list).iter_mut().zip(images) {
            c.set_or_remove("image", Some(image));
        }
    }
    let keep =
        |spec: &mut Value, field: &str| spec.set_or_remove(field, old_spec.get(field).cloned());
    keep(&mut munged, "activeDeadlineSeconds");
    keep(&mut munged, "schedulingGates");
    keep(&mut munged, "tolerations");
    let grace = "/terminationGracePeriodSeconds";
    if old_spec.int(grace) < 0 && munged.int(grace) == 1 {
        keep(&mut munged, "terminationGracePeriodSeconds");
    }
    if !old_spec.list("/schedulingGates").is_empty() {
        if munged.at("/nodeSelector") != old_spec.at("/nodeSelector") {
            let path = SPEC.child("nodeSelector");
            node_selector(
                errors,
                &path,
                munged.at("/nodeSelector"),
                old_spec.at("/nodeSelector"),
            );
            keep(&mut munged, "nodeSelector");
        }
        if munged.at("/affinity/nodeAffinity") != old_spec.at("/affinity/nodeAffinity") {
            node_affinity(
                errors,
                munged.at("/affinity/nodeAffinity"),
                old_spec.at("/affinity/nodeAffinity"),
            );
            keep_node_affinity(&mut munged, old_spec);
        }
    }
    if munged != *old_spec {
        let changed = changed_fields("spec", old_spec, &munged);
        let detail = format!(
            "pod updates may not change fields other than {UPDATABLE_FIELDS_MESSAGE}\nchanged: {changed}"
        );
        errors.forbidden(&SPEC, detail);
    }
}

fn keep_node_affinity(spec: &mut Value, old: &Value) {
    let before = old.at("/affinity/nodeAffinity");
    if before.is_null() {
        if let Some(affinity) = spec.get_object_mut("affinity") {
            affinity.remove_key("nodeAffinity");
        }
        let empty = spec.entries("/affinity").next().is_none();
        if empty && old.at("/affinity").is_null() {
            spec.remove_key("affinity");
        }
    } else {
        spec.object_mut("affinity")
            .set_or_remove("nodeAffinity", Some(before.clone()));
    }
}

/// Validates that the node selector of a gated pod is only extended.
fn node_selector(errors: &mut ErrorList, path: &FieldPath<'_>, new: &Value, old: &Value) {
    for (key, value) in old.entries("") {
        if new.get(key) != Some(value) {
            errors.invalid(
                path,
                new.clone(),
                "only additions are allowed to spec.nodeSelector (no mutations or deletions)",
            );
            return;
        }
    }
}

/// Validates that the required node affinity of a gated pod is only set, or its terms extended with
/// requirements.
fn node_affinity(errors: &mut ErrorList, new: &Value, old: &Value) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let affinity = SPEC.child("affinity");
    let node = affinity.child("nodeAffinity");
    let required = node.child(REQUIRED);
    let path = required.child("nodeSelectorTerms");
    let pointer = format!("/{REQUIRED}/nodeSelectorTerms");
    let (new, old) = (new.list(&pointer), old.list(&pointer));
    if old.is_empty() {
        return;
    }
    if new.len() != old.len() {
        let shown = Value::Array(new.to_vec());
        errors.invalid(
            &path,
            shown,
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        );
        return;
    }
    for (i, (new, old)) in new.iter().zip(old).enumerate() {
        if !is_narrower(new, old) {
            errors.invalid(
                &path.index(i),
                new.clone(),
                "only additions are allowed (no mutations or deletions)",
            );
        }
    }
}

/// Whether a node selector term contains all requirements of the old term. An empty term matches no
/// objects and cannot be narrowed.
fn is_narrower(new: &Value, old: &Value) -> bool {
    let (expressions, fields) = (old.list("/matchExpressions"), old.list("/matchFields"));
    if expressions.is_empty() && fields.is_empty() {
        return new.list("/matchExpressions").is_empty() && new.list("/matchFields").is_empty();
    }
    let starts = |new: &[Value], old: &[Value]| new.len() >= old.len() && new.starts_with(old);
    starts(new.list("/matchExpressions"), expressions) && starts(new.list("/matchFields"), fields)
}

/// Validates an update of the ephemeral containers.
pub(super) fn validate_ephemeral_containers(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    metadata_and_spec(&mut errors, new);
    let path = SPEC.child("ephemeralContainers");
    let list = new.list("/spec/ephemeralContainers");
    // The last one of the reversed list is the first one.
    let by_name: HashMap<&str, &Value> = list.iter().rev().map(|c| (c.text("/name"), c)).collect();
    for before in old.list("/spec/ephemeralContainers") {
        let name = before.text("/name");
        match by_name.get(name).copied() {
            None => {
                let detail = format!("existing ephemeral containers {name:?} may not be removed\n");
                errors.forbidden(&path, detail);
            }
            Some(after) if after != before => {
                let detail = format!("existing ephemeral containers {name:?} may not be changed\n");
                errors.forbidden(&path, detail);
            }
            Some(_) => {}
        }
    }
    errors.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(change: Value) -> Value {
        let mut pod = json!({"spec": {"containers": [{"name": "c", "image": "x"}]}});
        super::super::defaults::pod(&mut pod);
        json_patch::merge(&mut pod, &json!({"spec": change}));
        pod
    }

    fn texts(new: Value, old: Value) -> Vec<String> {
        validate(&pod(new), &pod(old))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn mutable_fields() {
        let gated = |rest: Value| {
            let mut v = json!({"schedulingGates": [{"name": "a/b"}]});
            json_patch::merge(&mut v, &rest);
            v
        };
        let key = |k: &str| json!({"key": k, "operator": "Exists"});
        for (new, old) in [
            (
                json!({"containers": [{"name": "c", "image": "y", "imagePullPolicy": "Always", "resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}]}),
                json!({}),
            ),
            (json!({"activeDeadlineSeconds": 5}), json!({})),
            (
                json!({"activeDeadlineSeconds": 5}),
                json!({"activeDeadlineSeconds": 9}),
            ),
            (
                json!({"tolerations": [key("a"), key("b")]}),
                json!({"tolerations": [key("a")]}),
            ),
            (json!({}), gated(json!({}))),
            (gated(json!({"nodeSelector": {"a": "b"}})), gated(json!({}))),
            (json!({"nodeSelector": {"a": "b"}}), gated(json!({}))),
            (
                gated(
                    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}),
                ),
                gated(json!({})),
            ),
        ] {
            assert_eq!(texts(new, old), Vec::<String>::new());
        }
    }

    #[test]
    fn immutable_fields() {
        let first = |new: Value, old: Value| texts(new, old)[0].lines().next().unwrap().to_string();
        assert_eq!(
            first(json!({"nodeSelector": {"a": "b"}}), json!({})),
            format!(
                "spec: Forbidden: pod updates may not change fields other than {UPDATABLE_FIELDS_MESSAGE}"
            )
        );
        assert_eq!(
            first(json!({"schedulingGates": [{"name": "x.io/y"}]}), json!({})),
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'x.io/y'"
        );
        assert_eq!(
            first(
                json!({"activeDeadlineSeconds": 9}),
                json!({"activeDeadlineSeconds": 5})
            ),
            "spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"
        );
        assert_eq!(
            first(
                json!({"tolerations": []}),
                json!({"tolerations": [{"key": "a", "operator": "Exists"}]})
            ),
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
        );
        let gate = json!([{"name": "a/b"}]);
        let changed = first(
            json!({"schedulingGates": gate, "nodeSelector": {"a": "c"}}),
            json!({"schedulingGates": gate, "nodeSelector": {"a": "b"}}),
        );
        assert_eq!(
            changed,
            r#"spec.nodeSelector: Invalid value: {"a":"c"}: only additions are allowed to spec.nodeSelector (no mutations or deletions)"#
        );
        let mut two = pod(json!({}));
        two["spec"]["containers"] =
            json!([two["spec"]["containers"][0], two["spec"]["containers"][0]]);
        let errors = validate(&two, &pod(json!({})));
        assert_eq!(
            errors.last().unwrap().to_string(),
            "spec.containers: Forbidden: pod updates may not add or remove containers"
        );
    }
}
