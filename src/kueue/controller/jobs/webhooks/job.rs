//! `batch/v1` Jobs.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::defaults;
use super::validation::{self, IMMUTABLE, JobVersion, annotation_path, atoi};
use super::{Denial, tas_validation};
use crate::job_annotations::{self, parse_bool};
use crate::jobs::batch_job::{BatchJobKind, pods_count, sync_completions_with_parallelism};
use crate::jobs::generic_job::JobKind;
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::pod_set_info::gate;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};

/// Defaults a Job.
pub(crate) async fn default(
    env: &IntegrationContext,
    namespace: &str,
    job: &mut Job,
) -> Result<(), Denial> {
    defaults::apply_default_local_queue(env, namespace, &mut job.metadata).await?;
    defaults::apply_default_workload_priority_class(env, &mut job.metadata);
    if defaults::workload_should_be_suspended(env, namespace, &job.metadata).await?
        && !BatchJobKind::is_suspended(job)
    {
        BatchJobKind::suspend(job);
    }
    defaults::apply_default_for_managed_by::<BatchJobKind>(env, namespace, job);
    if job_annotations::is_elastic(&job.metadata, &env.gates) {
        let template = &mut job.spec.get_or_insert_default().template;
        let gates = template
            .spec
            .get_or_insert_default()
            .scheduling_gates
            .get_or_insert_default();
        if gates
            .iter()
            .all(|g| g.name != c::ELASTIC_JOB_SCHEDULING_GATE)
        {
            gates.push(gate(c::ELASTIC_JOB_SCHEDULING_GATE));
        }
    }
    Ok(())
}

/// Validates a new or updated Job.
pub(crate) fn validate(
    env: &IntegrationContext,
    namespace: &str,
    job: &Job,
    old: Option<&Job>,
) -> FieldErrors {
    let mut errors = validation::validate_job_on_create(env, &job.metadata, &BatchJobKind::GVK);
    let min = |job: &Job| text(&job.metadata, c::JOB_MIN_PARALLELISM_ANNOTATION).cloned();
    if old.is_none_or(|old| min(old) != min(job)) {
        errors.extend(validate_partial_admission_create(env, job));
    }
    errors.extend(validate_sync_completion_create(job));
    if let Some(old) = old {
        errors.extend(validation::validate_job_on_update(
            env,
            namespace,
            version(job),
            version(old),
            &BatchJobKind::GVK,
        ));
        errors.extend(validate_partial_admission_update(job, old));
    }
    if env.enabled(Feature::TopologyAwareScheduling) {
        errors.extend(validate_topology_request(env, job));
    }
    errors
}

fn version(job: &Job) -> JobVersion<'_> {
    JobVersion {
        meta: &job.metadata,
        suspended: BatchJobKind::is_suspended(job),
    }
}

/// An annotation, which may be empty.
fn text<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    meta.annotations.as_ref()?.get(key)
}

fn validate_partial_admission_create(env: &IntegrationContext, job: &Job) -> FieldErrors {
    let key = c::JOB_MIN_PARALLELISM_ANNOTATION;
    let Some(value) = text(&job.metadata, key) else {
        return Vec::new();
    };
    let path = annotation_path(key);
    let most = i64::from(pods_count(job));
    let mut errors = match atoi(value) {
        Err(error) => vec![FieldError::invalid(&path, value, error.to_string())],
        Ok(n) if n >= most || n <= 0 => {
            let detail = format!("should be between 0 and {}", most - 1);
            vec![FieldError::invalid(&path, &n, detail)]
        }
        Ok(_) => Vec::new(),
    };
    if job_annotations::is_elastic(&job.metadata, &env.gates) {
        let detail = "partial admission and elastic job cannot be used together";
        errors.push(FieldError::invalid(&path, value, detail));
    }
    errors
}

fn validate_sync_completion_create(job: &Job) -> FieldErrors {
    let key = c::JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION;
    let Some(value) = text(&job.metadata, key) else {
        return Vec::new();
    };
    let path = annotation_path(key);
    let Some(enabled) = parse_bool(value) else {
        let detail = format!("strconv.ParseBool: parsing {value:?}: invalid syntax");
        return vec![FieldError::invalid(&path, value, detail)];
    };
    let mut errors = Vec::new();
    let spec = job.spec.clone().unwrap_or_default();
    if enabled && spec.completion_mode.as_deref().unwrap_or("NonIndexed") == "NonIndexed" {
        errors.push(FieldError::invalid(
            &path,
            value,
            "should not be enabled for NonIndexed jobs",
        ));
    }
    if enabled && spec.parallelism.unwrap_or(1) != spec.completions.unwrap_or(1) {
        let detail = format!("should be equal to parallelism when {key} annotation is true");
        let path = Path::new("spec").child("completions");
        errors.push(FieldError::invalid(&path, &spec.completions, detail));
    }
    errors
}

fn validate_partial_admission_update(new: &Job, old: &Job) -> FieldErrors {
    let mut errors = Vec::new();
    let spec = |job: &Job| job.spec.clone().unwrap_or_default();
    let parallelism = |job| spec(job).parallelism.unwrap_or(1);
    let in_part = text(&old.metadata, c::JOB_MIN_PARALLELISM_ANNOTATION).is_some();
    if in_part && spec(old).suspend != Some(true) && parallelism(old) != parallelism(new) {
        let detail = "cannot change when partial admission is enabled and the job is not suspended";
        errors.push(FieldError::forbidden(
            &Path::new("spec").child("parallelism"),
            detail,
        ));
    }
    let running = !BatchJobKind::is_suspended(old) && !BatchJobKind::is_suspended(new);
    if running && sync_completions_with_parallelism(old) != sync_completions_with_parallelism(new) {
        let path = annotation_path(c::JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION);
        let detail = format!("{IMMUTABLE} while the job is not suspended");
        errors.push(FieldError::forbidden(&path, detail));
    }
    errors
}

fn validate_topology_request(env: &IntegrationContext, job: &Job) -> FieldErrors {
    let path = Path::new("spec").child("template").child("metadata");
    let template = job
        .spec
        .as_ref()
        .and_then(|s| s.template.metadata.clone())
        .unwrap_or_default();
    let errors = tas_validation::validate_tas_pod_set_request(env, &path, &template);
    if !errors.is_empty() {
        return errors;
    }
    if job_annotations::is_elastic(&job.metadata, &env.gates) {
        let modes = [
            (c::POD_SET_REQUIRED_TOPOLOGY_ANNOTATION, "required"),
            (c::POD_SET_PREFERRED_TOPOLOGY_ANNOTATION, "preferred"),
        ];
        for (key, mode) in modes {
            if text(&template, key).is_some() {
                let detail = format!("{mode} topology is not supported with elastic jobs");
                let path = path.child("annotations").child(key);
                return vec![FieldError::forbidden(&path, detail)];
            }
        }
    }
    tas_validation::validate_slice_size_upper_bound(&path, &template, pods_count(job))
}
