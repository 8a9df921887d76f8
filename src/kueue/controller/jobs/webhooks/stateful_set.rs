//! StatefulSets: their pods form a group with a prebuilt Workload.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::{Map, Value};

use super::Denial;
use super::defaults::{self, set_annotation};
use super::deployment::validate_queue_name_update;
use super::validation::{self, IMMUTABLE};
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::role_hash::spec_shape;
use crate::jobs::stateful_set::{FRAMEWORK, GVK, find_workload, is_managed_by_other_framework};
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_engine::workload::predicates;

/// Marks the pods of a managed StatefulSet as suspended by their parent.
pub(crate) async fn default(
    env: &IntegrationContext,
    namespace: &str,
    set: &mut StatefulSet,
) -> Result<(), Denial> {
    if is_managed_by_other_framework(set) {
        return Ok(());
    }
    defaults::apply_default_local_queue(env, namespace, &mut set.metadata).await?;
    defaults::apply_default_workload_priority_class(env, &mut set.metadata);
    if defaults::workload_should_be_suspended(env, namespace, &set.metadata).await? {
        let template = &mut set.spec.get_or_insert_default().template;
        let meta = template.metadata.get_or_insert_default();
        set_annotation(meta, c::SUSPENDED_BY_PARENT_ANNOTATION, FRAMEWORK);
    }
    Ok(())
}

/// Validates a new or updated StatefulSet.
///
/// # Errors
/// Its owners cannot be read.
pub(crate) async fn validate(
    env: &IntegrationContext,
    namespace: &str,
    new: &StatefulSet,
    old: Option<&StatefulSet>,
) -> Result<FieldErrors, Denial> {
    let meta = &new.metadata;
    if is_managed_by_other_framework(new) {
        return Ok(Vec::new());
    }
    let mut errors =
        validation::validate_serving_job(env, meta, old.map(|old| &old.metadata), &GVK);
    let Some(old) = old else { return Ok(errors) };
    let ready = old.status.as_ref().and_then(|s| s.ready_replicas);
    errors.extend(validate_queue_name_update(ready, meta, &old.metadata));
    if defaults::workload_should_be_suspended(env, namespace, meta).await? {
        let path = Path::new("spec").child("template").child("spec");
        let pod_spec_shape = |set: &StatefulSet| {
            let spec = set.spec.as_ref().and_then(|s| s.template.spec.as_ref());
            spec.map(spec_shape).unwrap_or_default()
        };
        errors.extend(validate_immutable_pod_group_pod_spec(
            &pod_spec_shape(new),
            &pod_spec_shape(old),
            &path,
        ));
        errors.extend(validate_replicas_update(env, new, old));
    }
    Ok(errors)
}

/// A StatefulSet can be scaled only to zero and from zero.
fn validate_replicas_update(
    env: &IntegrationContext,
    new: &StatefulSet,
    old: &StatefulSet,
) -> FieldErrors {
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

/// The fields that the role hash covers are immutable; errors name the field that upstream names.
pub(super) fn validate_immutable_pod_group_pod_spec(
    new: &Value,
    old: &Value,
    path: &Path,
) -> FieldErrors {
    match (new, old) {
        (new, old) if new == old => Vec::new(),
        (Value::Object(new), Value::Object(old)) if is_shape_path(path) => {
            let names: BTreeSet<&String> = new.keys().chain(old.keys()).collect();
            let of = |map: &Map<String, Value>, name: &String| {
                map.get(name).cloned().unwrap_or_default()
            };
            let part = |name: &String| {
                validate_immutable_pod_group_pod_spec(
                    &of(new, name),
                    &of(old, name),
                    &path.child(name),
                )
            };
            names.into_iter().flat_map(part).collect()
        }
        (Value::Array(new), Value::Array(old)) if new.len() == old.len() && is_shape_path(path) => {
            let pairs = new.iter().zip(old).enumerate();
            pairs
                .flat_map(|(i, (new, old))| {
                    validate_immutable_pod_group_pod_spec(new, old, &path.index(i))
                })
                .collect()
        }
        _ => vec![FieldError::invalid(path, new, IMMUTABLE)],
    }
}

/// Whether a path is a composite of the shape rather than a field of the pod spec.
fn is_shape_path(path: &Path) -> bool {
    let last = path.as_str().rsplit('.').next().unwrap_or_default();
    let name = last.split('[').next().unwrap_or_default();
    matches!(name, "spec" | "containers" | "initContainers" | "resources")
}
