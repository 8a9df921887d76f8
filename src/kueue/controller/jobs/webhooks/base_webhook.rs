//! The webhook of a kind whose job is a single object: defaults and validation of all kinds, then
//! those of its [`JobKind`].

use super::Denial;
use super::defaults;
use super::validation::{self, JobVersion};
use crate::jobs::error::JobError;
use crate::jobs::generic_job::JobKind;
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::single_object_job::apply_pod_set_counts;
use kube::Resource;
use kueue_lab_api::field::FieldErrors;
use kueue_lab_api::v1beta2::PodSet;

/// Defaults a new job.
///
/// # Errors
/// The job is denied.
pub(crate) async fn default<K: JobKind>(
    env: &IntegrationContext,
    namespace: &str,
    job: &mut K::Object,
) -> Result<(), Denial> {
    defaults::apply_default_local_queue(env, namespace, job.meta_mut()).await?;
    defaults::apply_default_workload_priority_class(env, job.meta_mut());
    if defaults::workload_should_be_suspended(env, namespace, job.meta()).await?
        && !K::is_suspended(job)
    {
        K::suspend(job);
    }
    defaults::apply_default_for_managed_by::<K>(env, namespace, job);
    K::default(env, namespace, job).await
}

/// Validates a new job.
///
/// # Errors
/// The job is denied before its fields are validated.
pub(crate) async fn validate_create<K: JobKind>(
    env: &IntegrationContext,
    namespace: &str,
    job: &K::Object,
) -> Result<FieldErrors, Denial> {
    let mut errors = validation::validate_job_on_create(env, job.meta(), &K::GVK);
    errors.extend(K::validate_on_create(env, namespace, job).await?);
    Ok(sorted::<K>(errors))
}

/// Validates an updated job.
///
/// # Errors
/// The job is denied before its fields are validated.
pub(crate) async fn validate_update<K: JobKind>(
    env: &IntegrationContext,
    namespace: &str,
    new: &K::Object,
    old: &K::Object,
) -> Result<FieldErrors, Denial> {
    let mut errors = validate_job_on_update::<K>(env, namespace, new, old);
    errors.extend(K::validate_on_update(env, namespace, new, old).await?);
    Ok(sorted::<K>(errors))
}

/// The validation of all kinds of an updated job.
pub(crate) fn validate_job_on_update<K: JobKind>(
    env: &IntegrationContext,
    namespace: &str,
    new: &K::Object,
    old: &K::Object,
) -> FieldErrors {
    validation::validate_job_on_update(
        env,
        namespace,
        version::<K>(new),
        version::<K>(old),
        &K::GVK,
    )
}

/// Validates an updated Ray or Spark job as a new one too, if its new or its old version is
/// managed.
///
/// # Errors
/// As [`validate_create`].
pub(crate) async fn validate_ray_or_spark_job_on_update<K: JobKind>(
    env: &IntegrationContext,
    namespace: &str,
    new: &K::Object,
    old: &K::Object,
) -> Result<FieldErrors, Denial> {
    if !validation::should_validate_ray_or_spark_job_on_update(env, new.meta(), old.meta()) {
        return Ok(FieldErrors::new());
    }
    let mut errors = validate_job_on_update::<K>(env, namespace, new, old);
    errors.extend(K::validate_create(env, namespace, new).await?);
    Ok(errors)
}

fn sorted<K: JobKind>(mut errors: FieldErrors) -> FieldErrors {
    if K::SORTS_FIELD_ERRORS {
        errors.sort_by(|a, b| a.path.cmp(&b.path));
    }
    errors
}

/// The pod sets of a job, with the counts that another object determines.
///
/// # Errors
/// A field of the job cannot be parsed, or the other object cannot be read.
pub(crate) async fn job_pod_sets<K: JobKind>(
    env: &IntegrationContext,
    job: &K::Object,
) -> Result<Vec<PodSet>, JobError> {
    let mut pod_sets = K::pod_sets(job, &env.gates)?;
    let counts = K::pod_set_counts(env, job).await?;
    apply_pod_set_counts(&mut pod_sets, &counts);
    Ok(pod_sets)
}

fn version<K: JobKind>(job: &K::Object) -> JobVersion<'_> {
    JobVersion {
        meta: job.meta(),
        suspended: K::is_suspended(job),
    }
}
