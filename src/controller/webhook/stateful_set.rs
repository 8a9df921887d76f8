//! StatefulSets: their pods are a group with a Workload that is made beforehand.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::{Map, Value};

use super::Refusal;
use super::deployment::queue_of_serving;
use super::generic::{self, IMMUTABLE, annotate};
use crate::jobs::env::Env;
use crate::jobs::role_hash::shape_value;
use crate::jobs::stateful_set::{FRAMEWORK, GVK, find_workload, is_anothers};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};

/// Tells the pods of a managed StatefulSet that they are held back for it.
pub(super) async fn default(
    env: &Env,
    namespace: &str,
    set: &mut StatefulSet,
) -> Result<(), Refusal> {
    if is_anothers(set) {
        return Ok(());
    }
    generic::default_queue(env, namespace, &mut set.metadata).await?;
    generic::default_priority_class(env, &mut set.metadata);
    if generic::has_to_wait(env, namespace, &set.metadata).await? {
        let template = &mut set.spec.get_or_insert_default().template;
        let meta = template.metadata.get_or_insert_default();
        annotate(meta, c::SUSPENDED_BY_PARENT_ANNOTATION, FRAMEWORK);
    }
    Ok(())
}

/// Looks at a StatefulSet, and at what it was.
///
/// # Errors
/// Its owners cannot be found.
pub(super) async fn validate(
    env: &Env,
    namespace: &str,
    new: &StatefulSet,
    old: Option<&StatefulSet>,
) -> Result<FieldErrors, Refusal> {
    let meta = &new.metadata;
    if is_anothers(new) {
        return Ok(Vec::new());
    }
    let mut errors = generic::create_of_serving(env, meta, old.map(|old| &old.metadata), &GVK);
    let Some(old) = old else { return Ok(errors) };
    let ready = old
        .status
        .as_ref()
        .and_then(|s| s.ready_replicas)
        .unwrap_or(0);
    errors.extend(queue_of_serving(ready == 0, meta, &old.metadata));
    if generic::has_to_wait(env, namespace, meta).await? {
        let path = Path::new("spec").child("template").child("spec");
        let shape = |set: &StatefulSet| {
            let spec = set.spec.as_ref().and_then(|s| s.template.spec.as_ref());
            spec.map(shape_value).unwrap_or_default()
        };
        errors.extend(same_shape(&shape(new), &shape(old), &path));
        errors.extend(replicas(env, new, old));
    }
    Ok(errors)
}

/// Only to nothing and back from nothing may a StatefulSet be scaled.
fn replicas(env: &Env, new: &StatefulSet, old: &StatefulSet) -> FieldErrors {
    let path = Path::new("spec").child("replicas");
    let of = |set: &StatefulSet| set.spec.as_ref().and_then(|s| s.replicas).unwrap_or(1);
    let (to, from) = (of(new), of(old));
    if to != 0 && from != 0 && to != from {
        return vec![FieldError::invalid(&path, &to, IMMUTABLE)];
    }
    if from != 0 || to == 0 {
        return Vec::new();
    }
    if new.status.as_ref().map_or(0, |s| s.replicas) > 0 {
        return vec![FieldError::forbidden(
            &path,
            "scaling down is still in progress",
        )];
    }
    let left = find_workload(env, old).1;
    if left.is_some_and(|wl| !predicates::is_on_hold(&wl)) {
        let detail = "workload from previous scale-down is still being deleted";
        return vec![FieldError::forbidden(&path, detail)];
    }
    Vec::new()
}

/// What makes the role of the pods may not change; named as closely as upstream names it.
fn same_shape(new: &Value, old: &Value, path: &Path) -> FieldErrors {
    match (new, old) {
        (new, old) if new == old => Vec::new(),
        (Value::Object(new), Value::Object(old)) if is_shape(path) => {
            let names: BTreeSet<&String> = new.keys().chain(old.keys()).collect();
            let of = |map: &Map<String, Value>, name: &String| {
                map.get(name).cloned().unwrap_or_default()
            };
            let part =
                |name: &String| same_shape(&of(new, name), &of(old, name), &path.child(name));
            names.into_iter().flat_map(part).collect()
        }
        (Value::Array(new), Value::Array(old)) if new.len() == old.len() && is_shape(path) => {
            let pairs = new.iter().zip(old).enumerate();
            pairs
                .flat_map(|(i, (new, old))| same_shape(new, old, &path.index(i)))
                .collect()
        }
        _ => vec![FieldError::invalid(path, new, IMMUTABLE)],
    }
}

/// Whether a path leads to a part that is made up of others, rather than to a field of a pod.
fn is_shape(path: &Path) -> bool {
    let last = path.as_str().rsplit('.').next().unwrap_or_default();
    let name = last.split('[').next().unwrap_or_default();
    matches!(name, "spec" | "containers" | "initContainers" | "resources")
}
