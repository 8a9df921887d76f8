//! The webhook of a kind whose job is a single object: defaults and validation of all kinds, then
//! those of its [`JobKind`].

use super::Denial;
use super::defaults;
use super::validation::{self, JobVersion};
use crate::jobs::generic_job::JobKind;
use crate::jobs::integration_context::IntegrationContext;
use kube::Resource;
use kueue_lab_api::field::FieldErrors;

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
    let mut errors = validation::validate_job_on_update(
        env,
        namespace,
        version::<K>(new),
        version::<K>(old),
        &K::GVK,
    );
    errors.extend(K::validate_on_update(env, namespace, new, old).await?);
    Ok(sorted::<K>(errors))
}

fn sorted<K: JobKind>(mut errors: FieldErrors) -> FieldErrors {
    if K::SORTS_FIELD_ERRORS {
        errors.sort_by(|a, b| a.path.cmp(&b.path));
    }
    errors
}

fn version<K: JobKind>(job: &K::Object) -> JobVersion<'_> {
    JobVersion {
        meta: job.meta(),
        suspended: K::is_suspended(job),
    }
}
