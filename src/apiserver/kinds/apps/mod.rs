//! Deployments, replica sets, stateful sets, daemon sets and replication controllers.

mod daemonset;
mod deployment;
mod replicas;
mod rollout;
mod statefulset;

use serde_json::Value;

use super::check::{Errors, Path};
use super::meta::labels;
use super::pod;
use super::rules::Rules;
use super::value::Look;

/// The rules of a kind of apps.
pub fn rules(kind: &str) -> Rules {
    match kind {
        "Deployment" => deployment::RULES,
        "ReplicaSet" => replicas::REPLICA_SET,
        "StatefulSet" => statefulset::RULES,
        "DaemonSet" => daemonset::RULES,
        _ => Rules::PLAIN,
    }
}

pub use replicas::REPLICATION_CONTROLLER;

const SPEC: Path<'_> = Path::root("spec");

/// A selector that must be there and select something.
fn selector(errors: &mut Errors, spec: &Value, kind: &str) {
    let path = SPEC.child("selector");
    let selector = spec.at("/selector");
    if selector.is_null() {
        errors.required(&path, "");
        return;
    }
    errors.extend(labels::validate_selector(selector, &path.to_string()));
    if labels::is_empty_selector(selector) {
        let detail = format!("empty selector is invalid for {kind}");
        errors.invalid_as(&path, labels::shown_selector(selector), &detail);
    }
}

/// The template of pods that run for ever: selected by the selector, always restarted.
fn template(errors: &mut Errors, spec: &Value, kind: &str) {
    let path = SPEC.child("template");
    let selector = spec.at("/selector");
    let own = spec.at("/template/metadata/labels");
    if !labels::is_empty_selector(selector) && !labels::selects(selector, own) {
        let metadata = path.child("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&metadata.child("labels"), own.clone(), detail);
    }
    pod::validate_template(errors, &path, spec.at("/template"));
    always_restarted(errors, &path, spec.at("/template"), kind);
}

fn always_restarted(errors: &mut Errors, path: &Path<'_>, template: &Value, kind: &str) {
    let pod = path.child("spec");
    let policy = template.text("/spec/restartPolicy");
    errors.one_of(&pod.child("restartPolicy"), policy, &["Always"]);
    if template.has("/spec/activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(&pod.child("activeDeadlineSeconds"), detail);
    }
}

/// What a selector was it stays.
fn selector_stays(errors: &mut Errors, new: &Value, old: &Value) {
    if new.at("/spec/selector") != old.at("/spec/selector") {
        let shown = labels::shown_selector(new.at("/spec/selector"));
        errors.invalid_as(&SPEC.child("selector"), shown, "field is immutable");
    }
}

/// Numbers of a status that may not be negative.
fn counted(errors: &mut Errors, status: &Value, fields: &[&str]) {
    let path = Path::root("status");
    for field in fields {
        errors.not_negative(&path, status, field);
    }
}

/// Numbers of a status that may not be above another.
fn not_above(errors: &mut Errors, status: &Value, pairs: &[(&str, &str, &str)]) {
    let path = Path::root("status");
    for (field, other, detail) in pairs {
        let of = |field: &str| {
            status
                .get(field)
                .and_then(Value::as_i64)
                .unwrap_or_default()
        };
        if of(field) > of(other) {
            errors.invalid(&path.child(field), of(field), *detail);
        }
    }
}

fn warnings(new: &Value, _old: Option<&Value>) -> Vec<String> {
    pod::spec::warnings(new.at("/spec/template/spec"), "spec.template.spec")
}
