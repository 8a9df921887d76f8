//! Finds the one Workload of a job: the matching one is kept, others are updated or deleted.

use std::sync::Arc;

use kube::api::DeleteParams;

use super::error::JobError;
use super::generic_job::{GenericJob, StopReason};
use super::integration_context::IntegrationContext;
use super::patching::{finish_workload, remove_finalizer, update_workload};
use super::workload_slicing::{self, EnsuredSlice};
use super::{construct_workload, pod_set_infos, workload_priority};
use crate::MetricEvent;
use crate::job_annotations;
use crate::object_meta;
use crate::workload_patching;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event, finished};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::controller_of;
use kueue_lab_engine::workload::predicates;
use kueue_lab_engine::workload_slicing::replacement_for_key;

/// The Workload of a job, if any.
///
/// # Errors
/// A request fails, or Workloads were deleted and the job has to be reconciled again.
pub(super) async fn ensure_one_workload(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
) -> Result<Option<Arc<Workload>>, JobError> {
    if let Some(name) = job_annotations::prebuilt_workload_name(job.meta(), &env.gates) {
        let name = name.to_owned();
        return ensure_prebuilt_workload_in_sync(env, job, &name).await;
    }
    if job_annotations::is_elastic(job.meta(), &env.gates) {
        job.update_custom_annotations(env).await?;
        if let EnsuredSlice::Compatible(slice) =
            workload_slicing::ensure_workload_slices(env, job).await?
        {
            return workload_slicing::sync_workload_slice_priority(env, job, slice).await;
        }
    }
    let mut found = job.find_matching_workloads(env).await?;
    let mut to_update = None;
    if found.matched.is_none()
        && job.is_suspended()
        && found
            .to_delete
            .first()
            .is_some_and(|wl| !predicates::has_quota_reservation(wl))
    {
        to_update = Some(found.to_delete.remove(0));
    }
    if found.matched.is_none() && !job.is_suspended() && job.finished(env).is_none() {
        // With several Workloads the cause of the change is ambiguous.
        let known = match found.to_delete.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        };
        let message = match known {
            None => "Missing Workload; unable to restore pod templates",
            Some(_) => {
                "No matching Workload; restoring pod templates according to existent Workload"
            }
        };
        let infos = pod_set_infos::pod_set_infos_from_workload(known.as_deref());
        job.stop(env, &infos, &StopReason::NoMatchingWorkload, message)
            .await?;
    }
    delete_not_matching_workloads(env, job, &found.to_delete, found.matched.is_some()).await?;
    if let Some(wl) = to_update {
        return update_workload_to_match_job(env, job, &wl).await.map(Some);
    }
    let Some(wl) = found.matched else {
        return Ok(None);
    };
    let wl = update_admission_gated_by(env, job, wl).await?;
    let own = job.priority_class();
    let updated = workload_priority::update_workload_priority(
        env,
        &job.reference(),
        job.meta(),
        own,
        vec![wl],
    )
    .await?;
    Ok(updated.into_iter().next())
}

async fn delete_not_matching_workloads(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    others: &[Arc<Workload>],
    matched: bool,
) -> Result<(), JobError> {
    let mut deleted = 0;
    for wl in others {
        if delete_workload(env, wl).await? {
            deleted += 1;
            let message = format!("Deleted not matching Workload: {}", predicates::key(wl));
            env.record_normal_event(job.reference(), event::DELETED_WORKLOAD, message);
        }
    }
    if deleted == 0 {
        return Ok(());
    }
    let what = if matched {
        "extra workloads"
    } else {
        "no matching workloads"
    };
    Err(JobError::Retryable(format!(
        "{what}: deleted {} workloads",
        others.len()
    )))
}

/// Deletes a Workload. False if it is already terminating.
///
/// # Errors
/// A request fails.
pub(super) async fn delete_workload(
    env: &IntegrationContext,
    wl: &Workload,
) -> Result<bool, JobError> {
    let deleted = async {
        remove_finalizer(env, wl).await?;
        if wl.metadata.deletion_timestamp.is_some() {
            return Ok(false);
        }
        let api = workload_patching::workload_api(&env.shared, predicates::namespace(wl));
        api.delete(predicates::name(wl), &DeleteParams::default())
            .await?;
        Ok(true)
    };
    match deleted.await {
        Err(error @ JobError::Api(_)) if error.is_not_found() => Ok(false),
        other => other,
    }
}

async fn update_workload_to_match_job(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
    wl: &Workload,
) -> Result<Arc<Workload>, JobError> {
    let mut wanted = job.construct_workload(env).await?;
    construct_workload::prepare_workload(env, job, &mut wanted, wl.spec.active)?;
    let mut changed = wl.clone();
    changed.spec = wanted.spec;
    let written = update_workload(env, &changed).await?;
    let key = predicates::key(&written);
    let message = format!("Updated not matching Workload for suspended job: {key}");
    env.record_normal_event(job.reference(), event::UPDATED_WORKLOAD, message);
    Ok(written)
}

async fn update_admission_gated_by(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    wl: Arc<Workload>,
) -> Result<Arc<Workload>, JobError> {
    let mut changed = wl.as_ref().clone();
    if !construct_workload::propagate_admission_gated_by(env, job.meta(), &mut changed) {
        return Ok(wl);
    }
    let written = update_workload(env, &changed).await?;
    let gates =
        object_meta::annotation(job.meta(), c::ADMISSION_GATED_BY_ANNOTATION).unwrap_or_default();
    let message = format!("Updated workload AdmissionGatedBy to {gates:?}");
    env.record_normal_event(job.reference(), event::UPDATED_WORKLOAD, message);
    Ok(written)
}

async fn ensure_prebuilt_workload_in_sync(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
    name: &str,
) -> Result<Option<Arc<Workload>>, JobError> {
    let Some(wl) = env.workload(object_meta::namespace(job.meta()), name) else {
        return Ok(None);
    };
    if controller_of(&wl.metadata).is_some_and(|owner| owner.uid != object_meta::uid(job.meta())) {
        return Ok(None);
    }
    let wl = job.ensure_workload_ownership(env, wl).await?;
    // A replacement slice differs from the job until the job has scaled.
    if job_annotations::is_elastic(job.meta(), &env.gates) && replacement_for_key(&wl).is_some() {
        return Ok(Some(wl));
    }
    if job.equivalent_to_workload(env, &wl)? {
        return Ok(Some(wl));
    }
    let message = "The prebuilt workload is out of sync with its user job";
    finish_workload(env, &wl, finished::OUT_OF_SYNC, message).await?;
    Ok(None)
}

/// Creates the Workload of a job.
///
/// # Errors
/// A request fails, the Workload cannot be constructed, or the prebuilt Workload is missing.
pub(super) async fn create_workload(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
) -> Result<(), JobError> {
    let prebuilt = job_annotations::prebuilt_workload_name(job.meta(), &env.gates).is_some();
    if prebuilt {
        job.stop(
            env,
            &[],
            &StopReason::NoMatchingWorkload,
            "missing workload",
        )
        .await?;
    }
    // A job that is stopping keeps its quota while pods run.
    if job.is_active(env) && !job_annotations::is_elastic(job.meta(), &env.gates) {
        return Ok(());
    }
    if prebuilt {
        return Err(JobError::Retryable(
            "prebuilt workload not found".to_owned(),
        ));
    }
    let mut wl = job.construct_workload(env).await?;
    let active = wl.spec.active;
    construct_workload::prepare_workload(env, job, &mut wl, active)?;
    let api = workload_patching::workload_api(&env.shared, predicates::namespace(&wl));
    let written = Arc::new(api.create(&kube::api::PostParams::default(), &wl).await?);
    env.shared
        .informers
        .workloads
        .observe_write(written.clone());
    let message = format!("Created Workload: {}", predicates::key(&written));
    env.record_normal_event(job.reference(), event::CREATED_WORKLOAD, message);
    env.shared
        .notify_metric_event(&MetricEvent::WorkloadCreated {
            job_kind: &job.gvk().kind,
            job: job.meta(),
            workload: &written,
        });
    Ok(())
}

/// Finalizes the Workloads of a deleted job: those it controlled are finished, and finalizers are
/// removed.
///
/// # Errors
/// A request fails.
pub(super) async fn finalize_workloads(
    env: &IntegrationContext,
    job: &dyn GenericJob,
) -> Result<(), JobError> {
    for wl in job.list_child_workloads(env) {
        let finalized = finalize_workload(env, &wl).await;
        super::error::ignore_not_found(finalized)?;
    }
    Ok(())
}

async fn finalize_workload(env: &IntegrationContext, wl: &Workload) -> Result<(), JobError> {
    let terminating = wl.metadata.deletion_timestamp.is_some();
    if env.enabled(Feature::FinishOrphanedWorkloads)
        && !terminating
        && controller_of(&wl.metadata).is_some()
    {
        let message = "The workload's owner no longer exists";
        finish_workload(env, wl, finished::OWNER_NOT_FOUND, message).await?;
        // The resourceVersion changed.
        let newest = env.workload(predicates::namespace(wl), predicates::name(wl));
        return match newest {
            Some(newest) => remove_finalizer(env, &newest).await,
            None => Ok(()),
        };
    }
    remove_finalizer(env, wl).await
}
