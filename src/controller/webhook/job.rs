//! `batch/v1` Jobs.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::generic::{self, IMMUTABLE, Version, annotation, atoi};
use super::{Refusal, topology};
use crate::jobs::batch_job::{BatchJob, pods_count, syncs_completions};
use crate::jobs::env::Env;
use crate::jobs::job::JobKind;
use crate::jobs::marks::{self, parse_bool};
use crate::jobs::pod_set_info::gate;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};

/// Fills in what a managed Job has to have.
pub(super) async fn default(env: &Env, namespace: &str, job: &mut Job) -> Result<(), Refusal> {
    generic::default_queue(env, namespace, &mut job.metadata).await?;
    generic::default_priority_class(env, &mut job.metadata);
    if generic::has_to_wait(env, namespace, &job.metadata).await? && !BatchJob::is_suspended(job) {
        BatchJob::suspend(job);
    }
    if marks::is_elastic(&job.metadata, &env.gates) {
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

/// Looks at a Job, and at what it was.
pub(super) fn validate(env: &Env, namespace: &str, job: &Job, old: Option<&Job>) -> FieldErrors {
    let mut errors = generic::create(env, &job.metadata, &BatchJob::GVK);
    let min = |job: &Job| text(&job.metadata, c::JOB_MIN_PARALLELISM_ANNOTATION).cloned();
    if old.is_none_or(|old| min(old) != min(job)) {
        errors.extend(min_parallelism(env, job));
    }
    errors.extend(completions(job));
    if let Some(old) = old {
        errors.extend(generic::update(
            env,
            namespace,
            version(job),
            version(old),
            &BatchJob::GVK,
        ));
        errors.extend(partial_admission(job, old));
    }
    if env.enabled(Feature::TopologyAwareScheduling) {
        errors.extend(topology_request(env, job));
    }
    errors
}

fn version(job: &Job) -> Version<'_> {
    Version {
        meta: &job.metadata,
        suspended: BatchJob::is_suspended(job),
    }
}

/// An annotation, empty ones included.
fn text<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    meta.annotations.as_ref()?.get(key)
}

fn min_parallelism(env: &Env, job: &Job) -> FieldErrors {
    let key = c::JOB_MIN_PARALLELISM_ANNOTATION;
    let Some(value) = text(&job.metadata, key) else {
        return Vec::new();
    };
    let path = annotation(key);
    let most = i64::from(pods_count(job));
    let mut errors = match atoi(value) {
        Err(detail) => vec![FieldError::invalid(&path, value, detail)],
        Ok(n) if n >= most || n <= 0 => {
            let detail = format!("should be between 0 and {}", most - 1);
            vec![FieldError::invalid(&path, &n, detail)]
        }
        Ok(_) => Vec::new(),
    };
    if marks::is_elastic(&job.metadata, &env.gates) {
        let detail = "partial admission and elastic job cannot be used together";
        errors.push(FieldError::invalid(&path, value, detail));
    }
    errors
}

fn completions(job: &Job) -> FieldErrors {
    let key = c::JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION;
    let Some(value) = text(&job.metadata, key) else {
        return Vec::new();
    };
    let path = annotation(key);
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

fn partial_admission(new: &Job, old: &Job) -> FieldErrors {
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
    let running = !BatchJob::is_suspended(old) && !BatchJob::is_suspended(new);
    if running && syncs_completions(old) != syncs_completions(new) {
        let path = annotation(c::JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION);
        let detail = format!("{IMMUTABLE} while the job is not suspended");
        errors.push(FieldError::forbidden(&path, detail));
    }
    errors
}

fn topology_request(env: &Env, job: &Job) -> FieldErrors {
    let path = Path::new("spec").child("template").child("metadata");
    let template = job
        .spec
        .as_ref()
        .and_then(|s| s.template.metadata.clone())
        .unwrap_or_default();
    let errors = topology::request(env, &path, &template);
    if !errors.is_empty() {
        return errors;
    }
    if marks::is_elastic(&job.metadata, &env.gates) {
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
    topology::slice_bound(&path, &template, pods_count(job))
}
