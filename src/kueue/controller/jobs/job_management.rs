//! The management of a job: not by Kueue, with its own Workload, or as part of an ancestor.

use super::ancestor_job::{AncestorError, AncestorJob, MANAGED_OWNERS_CHAIN_LIMIT};
use super::error::JobError;
use super::generic_job::GenericJob;
use super::integration_context::IntegrationContext;
use crate::job_annotations;
use crate::object_meta;
use kueue_lab_api::constants::event;
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

/// The management of a job.
pub(super) enum JobManagement {
    /// Not by Kueue.
    Unmanaged,
    /// With its own Workload.
    Managed,
    /// As part of this ancestor.
    ChildOf(Box<AncestorJob>),
}

pub(super) async fn job_management(
    env: &IntegrationContext,
    job: &dyn GenericJob,
) -> Result<JobManagement, JobError> {
    let namespace_managed = env.namespace_is_managed(object_meta::namespace(job.meta()));
    if namespace_managed != Some(true) {
        return Ok(JobManagement::Unmanaged);
    }
    let ancestor = match job.is_top_level() {
        true => None,
        false => find_ancestor_job(env, job).await?,
    };
    let named = |meta| {
        env.manage_jobs_without_queue_name() || !job_annotations::queue_name(meta).is_empty()
    };
    Ok(match ancestor {
        None if named(job.meta()) => JobManagement::Managed,
        Some(found) if named(job.meta()) || named(&found.meta) => {
            JobManagement::ChildOf(Box::new(found))
        }
        _ => JobManagement::Unmanaged,
    })
}

async fn find_ancestor_job(
    env: &IntegrationContext,
    job: &dyn GenericJob,
) -> Result<Option<AncestorJob>, JobError> {
    let found = env
        .ancestor_finder
        .find_ancestor_job_managed_by_kueue(
            &env.integrations,
            job.meta(),
            env.manage_jobs_without_queue_name(),
        )
        .await;
    found.map_err(|error| {
        if matches!(error, AncestorError::ChainLimitReached) {
            let message = format!(
                "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {MANAGED_OWNERS_CHAIN_LIMIT}"
            );
            let (reason, action) = (event::JOB_NESTING_TOO_DEEP, event::JOB_NESTING_TOO_DEEP);
            env.record_event(job.reference(), EventType::Warning, reason, action, message);
        }
        JobError::Retryable(error.to_string())
    })
}

pub(super) fn should_suspend_child_job(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    ancestor: &AncestorJob,
) -> bool {
    if job.is_suspended() || job.finished(env).is_some() {
        return false;
    }
    // Upstream has no index of the Workloads of such owners, and fails before it would suspend.
    if !env.integrations.has_workload_owner_index(&ancestor.gvk) {
        return false;
    }
    let unfinished = env.not_finished_workloads(&ancestor.gvk, &ancestor.meta);
    let Some(newest) = unfinished.last() else {
        return true;
    };
    let elastic = |meta| job_annotations::is_elastic(meta, &env.gates);
    if elastic(job.meta()) || elastic(&ancestor.meta) {
        // While a slice is replaced, none may be admitted.
        return predicates::is_evicted(newest);
    }
    !predicates::is_admitted(newest)
}
