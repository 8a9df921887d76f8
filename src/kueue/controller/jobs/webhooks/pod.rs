//! Pods: plain ones, and members of groups, Deployments and StatefulSets.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::defaults;
use super::validation::{self, JobVersion, annotation_path, label_path, validate_immutable};
use super::{Denial, Warnings, tas_validation};
use crate::job_annotations;
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::integration_manager::Gvk;
use crate::jobs::pod_set_info::gate;
use crate::jobs::role_hash::role_hash;
use crate::object_meta;
use crate::pod_util::{has_gate, is_terminated};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};

pub(crate) const GVK: Gvk = Gvk::new("", "v1", "Pod");

/// Defaults a Pod.
pub(crate) async fn default(
    env: &IntegrationContext,
    namespace: &str,
    pod: &mut Pod,
) -> Result<(), Denial> {
    let by_parent = has_annotation(&pod.metadata, c::SUSPENDED_BY_PARENT_ANNOTATION);
    if !by_parent && !is_managed(env, namespace, &mut pod.metadata).await? {
        return Ok(());
    }
    let meta = &mut pod.metadata;
    if !by_parent && !object_meta::has_finalizer(meta, c::POD_FINALIZER) {
        meta.finalizers
            .get_or_insert_default()
            .push(c::POD_FINALIZER.to_owned());
    }
    let spec = pod.spec.get_or_insert_default();
    add_gate(spec, c::ADMISSION_SCHEDULING_GATE);
    if env.enabled(Feature::TopologyAwareScheduling) {
        let key = meta
            .annotations
            .as_ref()
            .and_then(|m| m.get(c::POD_GROUP_POD_INDEX_LABEL_ANNOTATION));
        if let Some(key) = key.cloned() {
            let index = meta.labels.as_ref().and_then(|m| m.get(&key)).cloned();
            defaults::set_label(
                meta,
                c::POD_GROUP_POD_INDEX_LABEL,
                &index.unwrap_or_default(),
            );
        }
        add_gate(spec, c::TOPOLOGY_SCHEDULING_GATE);
    }
    let annotations = meta.annotations.get_or_insert_default();
    let key = c::ROLE_HASH_ANNOTATION;
    annotations
        .entry(key.to_owned())
        .or_insert_with(|| role_hash(spec));
    Ok(())
}

/// Whether a Pod gets the managed label.
async fn is_managed(
    env: &IntegrationContext,
    namespace: &str,
    meta: &mut ObjectMeta,
) -> Result<bool, Denial> {
    if !defaults::namespace_is_managed(env, namespace).await?
        || defaults::find_ancestor_job(env, namespace, meta)
            .await?
            .is_some()
    {
        return Ok(false);
    }
    if job_annotations::queue_name(meta).is_empty()
        && defaults::default_local_queue_exists(env, namespace)
    {
        defaults::set_label(meta, c::QUEUE_LABEL, c::DEFAULT_LOCAL_QUEUE_NAME);
    }
    defaults::apply_default_workload_priority_class(env, meta);
    let managed =
        !job_annotations::queue_name(meta).is_empty() || env.manage_jobs_without_queue_name();
    if managed {
        defaults::set_label(meta, c::MANAGED_LABEL, c::MANAGED_LABEL_VALUE);
    }
    Ok(managed)
}

fn add_gate(spec: &mut PodSpec, name: &str) {
    let gates = spec.scheduling_gates.get_or_insert_default();
    if gates.iter().all(|g| g.name != name) {
        gates.push(gate(name));
    }
}

fn has_annotation(meta: &ObjectMeta, key: &str) -> bool {
    meta.annotations
        .as_ref()
        .is_some_and(|m| m.contains_key(key))
}

fn is_suspended(pod: &Pod) -> bool {
    is_terminated(pod) || has_gate(pod, c::ADMISSION_SCHEDULING_GATE)
}

/// Validates a new or updated Pod.
pub(crate) fn validate(
    env: &IntegrationContext,
    namespace: &str,
    pod: &Pod,
    old: Option<&Pod>,
) -> (FieldErrors, Warnings) {
    let meta = &pod.metadata;
    let mut errors = match old {
        None => validation::validate_job_on_create(env, meta, &GVK),
        Some(old) => {
            validation::validate_job_on_update(env, namespace, version(pod), version(old), &GVK)
        }
    };
    errors.extend(validate_common(env, meta));
    if let Some(old) = old {
        errors.extend(validate_retriable_in_group_update(env, meta, &old.metadata));
        if let Some(group) = job_annotations::pod_group_name(&old.metadata, &env.gates) {
            let new = job_annotations::pod_group_name(meta, &env.gates).unwrap_or_default();
            errors.extend(validate_immutable(
                new,
                group,
                &pod_group_name_path(env, meta),
            ));
        }
    }
    let mut warnings = Warnings::new();
    let by_parent = old.is_some() && has_annotation(meta, c::SUSPENDED_BY_PARENT_ANNOTATION);
    let is_managed = object_meta::label(meta, c::MANAGED_LABEL) == Some(c::MANAGED_LABEL_VALUE);
    if !by_parent && is_managed && env.integrations.is_owner_managed_by_kueue_for_object(meta) {
        warnings.push(format!(
            "pod owner is managed by kueue, label '{}={}' might lead to unexpected behaviour",
            c::MANAGED_LABEL,
            c::MANAGED_LABEL_VALUE
        ));
    }
    (errors, warnings)
}

fn version(pod: &Pod) -> JobVersion<'_> {
    JobVersion {
        meta: &pod.metadata,
        suspended: is_suspended(pod),
    }
}

fn validate_common(env: &IntegrationContext, meta: &ObjectMeta) -> FieldErrors {
    let mut errors = Vec::new();
    let managed = meta.labels.as_ref().and_then(|m| m.get(c::MANAGED_LABEL));
    if managed.is_some_and(|value| value != c::MANAGED_LABEL_VALUE) {
        let detail = format!(
            "managed label value can only be '{}'",
            c::MANAGED_LABEL_VALUE
        );
        errors.push(FieldError::forbidden(&label_path(c::MANAGED_LABEL), detail));
    }
    errors.extend(validate_pod_group_metadata(env, meta));
    errors.extend(tas_validation::validate_tas_pod_set_request(
        env,
        &Path::new("metadata"),
        meta,
    ));
    let group = job_annotations::pod_group_name(meta, &env.gates);
    let prebuilt = job_annotations::prebuilt_workload_name(meta, &env.gates);
    if let (Some(group), Some(prebuilt)) = (group, prebuilt)
        && group != prebuilt
    {
        let path = validation::prebuilt_workload_path(env, meta);
        let detail = "prebuilt workload and pod group should be equal";
        errors.push(FieldError::invalid(&path, prebuilt, detail));
    }
    errors
}

fn is_pod_group_by_annotation(env: &IntegrationContext, meta: &ObjectMeta) -> bool {
    env.enabled(Feature::WorkloadIdentifierAnnotations)
        && object_meta::annotation(meta, c::POD_GROUP_NAME_ANNOTATION).is_some()
}

fn pod_group_name_path(env: &IntegrationContext, meta: &ObjectMeta) -> Path {
    match is_pod_group_by_annotation(env, meta) {
        true => annotation_path(c::POD_GROUP_NAME_ANNOTATION),
        false => label_path(c::POD_GROUP_NAME_LABEL),
    }
}

fn validate_pod_group_metadata(env: &IntegrationContext, meta: &ObjectMeta) -> FieldErrors {
    let count_key = c::POD_GROUP_TOTAL_COUNT_ANNOTATION;
    let count = meta.annotations.as_ref().and_then(|m| m.get(count_key));
    let by_annotation = is_pod_group_by_annotation(env, meta);
    let (what, name_key) = match by_annotation {
        true => ("annotation", c::POD_GROUP_NAME_ANNOTATION),
        false => ("label", c::POD_GROUP_NAME_LABEL),
    };
    let detail =
        format!("both the '{count_key}' annotation and the '{name_key}' {what} should be set");
    let mut errors = Vec::new();
    if job_annotations::pod_group_name(meta, &env.gates).is_none() {
        if count.is_some() {
            return vec![FieldError::required(
                &pod_group_name_path(env, meta),
                detail,
            )];
        }
        return errors;
    }
    errors.extend(match by_annotation {
        true => validation::validate_annotation_as_crd_name(meta, c::POD_GROUP_NAME_ANNOTATION),
        false => validation::validate_label_as_crd_name(meta, c::POD_GROUP_NAME_LABEL),
    });
    let path = annotation_path(count_key);
    let Some(count) = count else {
        errors.push(FieldError::required(&path, detail));
        return errors;
    };
    let problem = match validation::atoi(count) {
        Err(error) => error.to_string(),
        Ok(n) if n < 1 => format!(
            "incorrect annotation value '{count_key}={count}': group total count should be greater than zero"
        ),
        Ok(_) => return errors,
    };
    errors.push(FieldError::invalid(&path, count, problem));
    errors
}

fn validate_retriable_in_group_update(
    env: &IntegrationContext,
    new: &ObjectMeta,
    old: &ObjectMeta,
) -> FieldErrors {
    let key = c::RETRIABLE_IN_GROUP_ANNOTATION;
    let unretriable =
        |meta| object_meta::annotation(meta, key) == Some(c::RETRIABLE_IN_GROUP_FALSE);
    let becomes_retriable = unretriable(old) && !unretriable(new);
    if becomes_retriable && job_annotations::pod_group_name(new, &env.gates).is_some() {
        let detail = "unretriable pod group can't be converted to retriable";
        return vec![FieldError::forbidden(&annotation_path(key), detail)];
    }
    Vec::new()
}
