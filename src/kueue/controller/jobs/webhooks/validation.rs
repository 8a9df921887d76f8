//! Validation shared by the webhooks of jobs: labels, annotations and immutable fields.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::defaults::default_local_queue_exists;
use crate::job_annotations::{self, ParseIntError};
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::integration_manager::Gvk;
use crate::object_meta;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::name_validation::dns1123_subdomain;
use kueue_lab_api::validation::{admission_gated_by, admission_gated_by_update};

/// Detail of an immutable field.
pub(super) const IMMUTABLE: &str = "field is immutable";

/// The maximum number of pod sets of a Workload.
pub(crate) const MAX_POD_SETS: usize = 18;

/// Kinds that support elastic jobs.
const ELASTIC_JOB_KINDS: [(&str, &str); 4] = [
    ("batch", "Job"),
    ("ray.io", "RayCluster"),
    ("ray.io", "RayJob"),
    ("ray.io", "RayService"),
];

/// Kinds that support a prebuilt Workload.
const PREBUILT_WORKLOAD_KINDS: [(&str, &str); 13] = [
    ("batch", "Job"),
    ("jobset.x-k8s.io", "JobSet"),
    ("kubeflow.org", "TFJob"),
    ("kubeflow.org", "PaddleJob"),
    ("kubeflow.org", "PyTorchJob"),
    ("kubeflow.org", "XGBoostJob"),
    ("trainer.kubeflow.org", "TrainJob"),
    ("kubeflow.org", "MPIJob"),
    ("ray.io", "RayJob"),
    ("", "Pod"),
    ("ray.io", "RayCluster"),
    ("ray.io", "RayService"),
    ("workload.codeflare.dev", "AppWrapper"),
];

/// The path of a label.
pub(super) fn label_path(key: &str) -> Path {
    Path::new("metadata").child("labels").key(key)
}

/// The path of an annotation.
pub(super) fn annotation_path(key: &str) -> Path {
    Path::new("metadata").child("annotations").key(key)
}

/// Validates that a label or annotation is an object name.
fn validate_crd_name(value: Option<&String>, path: &Path) -> FieldErrors {
    let Some(value) = value else {
        return Vec::new();
    };
    let problems = dns1123_subdomain(value);
    match problems.is_empty() {
        true => Vec::new(),
        false => vec![FieldError::invalid(path, value, problems.join(","))],
    }
}

/// Validates that a label is an object name.
pub(super) fn validate_label_as_crd_name(meta: &ObjectMeta, key: &str) -> FieldErrors {
    validate_crd_name(
        meta.labels.as_ref().and_then(|m| m.get(key)),
        &label_path(key),
    )
}

/// Validates that an annotation is an object name.
pub(super) fn validate_annotation_as_crd_name(meta: &ObjectMeta, key: &str) -> FieldErrors {
    validate_crd_name(
        meta.annotations.as_ref().and_then(|m| m.get(key)),
        &annotation_path(key),
    )
}

/// The path of the name of the prebuilt Workload.
pub(super) fn prebuilt_workload_path(env: &IntegrationContext, meta: &ObjectMeta) -> Path {
    match is_prebuilt_workload_by_annotation(env, meta) {
        true => annotation_path(c::PREBUILT_WORKLOAD_ANNOTATION),
        false => label_path(c::PREBUILT_WORKLOAD_LABEL),
    }
}

fn is_prebuilt_workload_by_annotation(env: &IntegrationContext, meta: &ObjectMeta) -> bool {
    let name = object_meta::annotation(meta, c::PREBUILT_WORKLOAD_ANNOTATION).unwrap_or_default();
    let long = name.len() > job_annotations::LABEL_VALUE_MAX;
    !name.is_empty() && (long || env.enabled(Feature::WorkloadIdentifierAnnotations))
}

fn validate_prebuilt_workload(
    env: &IntegrationContext,
    meta: &ObjectMeta,
    gvk: &Gvk,
) -> FieldErrors {
    let mut errors = match is_prebuilt_workload_by_annotation(env, meta) {
        true => validate_annotation_as_crd_name(meta, c::PREBUILT_WORKLOAD_ANNOTATION),
        false => validate_label_as_crd_name(meta, c::PREBUILT_WORKLOAD_LABEL),
    };
    let kind = (gvk.group.as_ref(), gvk.kind.as_ref());
    if job_annotations::prebuilt_workload_name(meta, &env.gates).is_some()
        && !PREBUILT_WORKLOAD_KINDS.contains(&kind)
    {
        let detail = format!("Is not supported for {:?}", gvk.to_string());
        errors.push(FieldError::forbidden(
            &prebuilt_workload_path(env, meta),
            detail,
        ));
    }
    errors
}

fn validate_max_exec_time(meta: &ObjectMeta) -> FieldErrors {
    let labels = meta.labels.as_ref();
    let Some(text) = labels.and_then(|m| m.get(c::MAX_EXEC_TIME_SECONDS_LABEL)) else {
        return Vec::new();
    };
    let path = label_path(c::MAX_EXEC_TIME_SECONDS_LABEL);
    match atoi(text) {
        Err(error) => vec![FieldError::invalid(&path, text, error.to_string())],
        Ok(n) if n <= 0 => vec![FieldError::invalid(&path, &n, "should be greater than 0")],
        Ok(_) => Vec::new(),
    }
}

/// Parses an integer as Go's `strconv.Atoi`, with its messages.
///
/// # Errors
/// The text is not an integer, or out of range.
pub(super) fn atoi(text: &str) -> Result<i64, ParseIntError> {
    job_annotations::parse_int("Atoi", text)
}

/// Denies elastic jobs of kinds that do not support them.
fn validate_elastic_job_annotation(
    env: &IntegrationContext,
    meta: &ObjectMeta,
    gvk: &Gvk,
) -> FieldErrors {
    let kind = (gvk.group.as_ref(), gvk.kind.as_ref());
    if !job_annotations::is_elastic(meta, &env.gates) || ELASTIC_JOB_KINDS.contains(&kind) {
        return Vec::new();
    }
    let detail = format!("elastic job is not supported for {:?}", gvk.to_string());
    vec![FieldError::forbidden(
        &annotation_path(c::ELASTIC_JOB_ANNOTATION),
        detail,
    )]
}

/// Validation of a new job of any kind.
pub(crate) fn validate_job_on_create(
    env: &IntegrationContext,
    meta: &ObjectMeta,
    gvk: &Gvk,
) -> FieldErrors {
    let mut errors = validate_label_as_crd_name(meta, c::QUEUE_LABEL);
    errors.extend(validate_prebuilt_workload(env, meta, gvk));
    errors.extend(validate_max_exec_time(meta));
    errors.extend(validate_elastic_job_annotation(env, meta, gvk));
    if env.enabled(Feature::AdmissionGatedBy) {
        errors.extend(admission_gated_by(meta));
    }
    errors
}

/// Validation of a serving workload, whose pods are queued instead of itself.
pub(super) fn validate_serving_job(
    env: &IntegrationContext,
    meta: &ObjectMeta,
    old: Option<&ObjectMeta>,
    gvk: &Gvk,
) -> FieldErrors {
    let mut errors = validate_label_as_crd_name(meta, c::QUEUE_LABEL);
    errors.extend(validate_elastic_job_annotation(env, meta, gvk));
    if env.enabled(Feature::AdmissionGatedBy) {
        errors.extend(match old {
            None => admission_gated_by(meta),
            Some(old) => admission_gated_by_update(meta, old),
        });
    }
    errors
}

/// The old or new version of a job.
#[derive(Clone, Copy)]
pub(super) struct JobVersion<'a> {
    /// Its metadata.
    pub meta: &'a ObjectMeta,
    /// Whether the job is suspended.
    pub suspended: bool,
}

/// Validates that a value is unchanged.
pub(super) fn validate_immutable(new: &str, old: &str, path: &Path) -> FieldErrors {
    match new == old {
        true => Vec::new(),
        false => vec![FieldError::invalid(path, new, IMMUTABLE)],
    }
}

/// Validation of an updated job of any kind.
pub(super) fn validate_job_on_update(
    env: &IntegrationContext,
    namespace: &str,
    new: JobVersion<'_>,
    old: JobVersion<'_>,
    gvk: &Gvk,
) -> FieldErrors {
    let mut errors = validate_update_for_queue_name(env, namespace, new, old);
    let name = |meta| job_annotations::prebuilt_workload_name(meta, &env.gates).unwrap_or_default();
    if new.suspended || job_annotations::is_elastic(old.meta, &env.gates) {
        errors.extend(validate_prebuilt_workload(env, new.meta, gvk));
    } else {
        errors.extend(validate_immutable(
            name(new.meta),
            name(old.meta),
            &prebuilt_workload_path(env, new.meta),
        ));
    }
    if !new.suspended || !old.suspended {
        let key = c::MAX_EXEC_TIME_SECONDS_LABEL;
        let text = |meta| object_meta::label(meta, key).unwrap_or_default().to_owned();
        errors.extend(validate_immutable(
            &text(new.meta),
            &text(old.meta),
            &label_path(key),
        ));
    }
    errors.extend(validate_update_for_workload_priority_class_name(
        new.suspended,
        new.meta,
        old.meta,
    ));
    let elastic = |meta| job_annotations::is_elastic(meta, &env.gates);
    if elastic(new.meta) != elastic(old.meta) {
        let path = annotation_path(c::ELASTIC_JOB_ANNOTATION);
        errors.push(FieldError::invalid(&path, &elastic(new.meta), IMMUTABLE));
    }
    if env.enabled(Feature::AdmissionGatedBy) {
        errors.extend(admission_gated_by_update(new.meta, old.meta));
    }
    errors
}

/// Whether an update of a Ray or Spark job is validated: its new or its old version is managed.
pub(crate) fn should_validate_ray_or_spark_job_on_update(
    env: &IntegrationContext,
    new: &ObjectMeta,
    old: &ObjectMeta,
) -> bool {
    let named = |meta| !job_annotations::queue_name(meta).is_empty();
    env.manage_jobs_without_queue_name()
        || named(new)
        || (env.enabled(Feature::ValidateRayAndSparkJobUpdates) && named(old))
}

fn validate_update_for_queue_name(
    env: &IntegrationContext,
    namespace: &str,
    new: JobVersion<'_>,
    old: JobVersion<'_>,
) -> FieldErrors {
    let path = label_path(c::QUEUE_LABEL);
    let (to, from) = (
        job_annotations::queue_name(new.meta),
        job_annotations::queue_name(old.meta),
    );
    let mut errors = Vec::new();
    if !new.suspended {
        errors.extend(validate_immutable(to, from, &path));
    }
    if to.is_empty() && !from.is_empty() && default_local_queue_exists(env, namespace) {
        let detail = "queue-name must not be empty in namespace with default queue";
        errors.push(FieldError::invalid(&path, "", detail));
    }
    errors
}

/// Validation of an updated priority class.
pub(super) fn validate_update_for_workload_priority_class_name(
    suspended: bool,
    new: &ObjectMeta,
    old: &ObjectMeta,
) -> FieldErrors {
    let path = label_path(c::PRIORITY_CLASS_LABEL);
    let (to, from) = (
        job_annotations::workload_priority_class_name(new),
        job_annotations::workload_priority_class_name(old),
    );
    let detail = match (to.is_empty(), from.is_empty()) {
        (false, true) if !suspended => {
            "WorkloadPriorityClass cannot be added to a non-suspended workload"
        }
        (true, false) => "WorkloadPriorityClass cannot be removed from a workload",
        _ => return Vec::new(),
    };
    vec![FieldError::invalid(&path, to, detail)]
}
