//! The generic reconciler: syncs a job with its Workload.

use std::sync::Arc;

use super::ensure_one_workload::{create_workload, ensure_one_workload, finalize_workloads};
use super::error::{JobError, ignore_not_found};
use super::evicted_workload::{handle_evicted_workload, release_quota_without_pods};
use super::generic_job::{GenericJob, StopReason};
use super::integration_context::IntegrationContext;
use super::job_management::{JobManagement, job_management, should_suspend_child_job};
use super::patching::{finish_workload, remove_finalizer, update_workload};
use super::{pod_set_infos, pods_ready};
use crate::job_annotations;
use crate::object_meta;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event, finished, quota_reserved};
use kueue_lab_api::v1beta2::{CheckState, ReclaimablePod, Workload, WorkloadStatus};
use kueue_lab_controller_runtime::{ObjectKey, ReconcileResult};
use kueue_lab_engine::status::{set_condition, unset_quota_reservation};
use kueue_lab_engine::workload::predicates;

/// Reconciles a job with its Workload.
///
/// # Errors
/// The reconciliation has to be retried.
pub(super) async fn reconcile_generic_job(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
) -> Result<ReconcileResult, JobError> {
    match reconcile_steps(env, job).await {
        Err(JobError::Unretryable(reason)) => {
            tracing::debug!(
                job = object_meta::name(job.meta()),
                reason,
                "waiting for a change"
            );
            Ok(ReconcileResult::Done)
        }
        other => other,
    }
}

async fn reconcile_steps(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
) -> Result<ReconcileResult, JobError> {
    if job.skip(env) {
        return Ok(ReconcileResult::Done);
    }
    if job.is_deleted() {
        ignore_not_found(release_quota_without_pods(env, job).await)?;
        ignore_not_found(finalize_workloads(env, job).await)?;
        if job.meta().deletion_timestamp.is_some() {
            ignore_not_found(job.finalize(env).await)?;
        }
        return Ok(ReconcileResult::Done);
    }
    match job_management(env, job).await? {
        JobManagement::Unmanaged => return Ok(ReconcileResult::Done),
        JobManagement::ChildOf(ancestor) => {
            if should_suspend_child_job(env, job, &ancestor) {
                job.suspend_child_job(env).await?;
            }
            return Ok(ReconcileResult::Done);
        }
        JobManagement::Managed => {}
    }
    let Some(wl) = ensure_one_workload(env, job).await? else {
        return handle_job_with_no_workload(env, job).await;
    };
    reconcile_job_with_workload(env, job, wl).await
}

async fn handle_job_with_no_workload(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
) -> Result<ReconcileResult, JobError> {
    if job.is_on_hold() {
        return Ok(ReconcileResult::Done);
    }
    if job.finished(env).is_some() {
        job.finalize(env).await?;
        return Ok(ReconcileResult::Done);
    }
    create_workload(env, job).await?;
    Ok(ReconcileResult::Done)
}

fn record_finished_workload(env: &IntegrationContext, job: &dyn GenericJob, wl: &Workload) {
    let message = format!("Workload '{}' is declared finished", predicates::key(wl));
    env.record_normal_event(job.reference(), event::FINISHED_WORKLOAD, message);
}

async fn reconcile_job_with_workload(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
    wl: Arc<Workload>,
) -> Result<ReconcileResult, JobError> {
    let remaining_window = env
        .recent_quota_losses
        .recent_for_remaining(&wl, env.shared.now());
    let outcome = sync_job_with_workload(env, job, wl).await?;
    Ok(match (outcome, remaining_window) {
        (ReconcileResult::Done, Some(remaining)) => ReconcileResult::RequeueAfter(remaining),
        (outcome, _) => outcome,
    })
}

async fn sync_job_with_workload(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
    wl: Arc<Workload>,
) -> Result<ReconcileResult, JobError> {
    if let Some(conditions) = job.custom_workload_conditions(env, &wl) {
        let mut status = WorkloadStatus::default();
        for condition in conditions {
            set_condition(&mut status.conditions, condition);
        }
        let manager = format!(
            "{}-{}-controller",
            c::KUEUE_NAME,
            job.gvk().kind.to_lowercase()
        );
        apply_status(env, &wl, &manager, &status).await?;
        return Ok(ReconcileResult::Done);
    }
    if predicates::is_finished(&wl) {
        job.finalize(env).await?;
        record_finished_workload(env, job, &wl);
        remove_finalizer(env, &wl).await?;
        return Ok(ReconcileResult::Done);
    }
    if wl.metadata.deletion_timestamp.is_some() {
        let infos = pod_set_infos::pod_set_infos_from_workload(Some(&wl));
        job.stop(
            env,
            &infos,
            &StopReason::WorkloadDeleted,
            "Workload is deleted",
        )
        .await?;
        remove_finalizer(env, &wl).await?;
        return Ok(ReconcileResult::Done);
    }
    if job.is_on_hold() {
        return put_on_hold(env, &wl).await;
    }
    if let Some(end) = job.finished(env) {
        let reason = if end.success {
            finished::SUCCEEDED
        } else {
            finished::FAILED
        };
        ignore_not_found(finish_workload(env, &wl, reason, &end.message).await)?;
        record_finished_workload(env, job, &wl);
        job.finalize(env).await?;
        return Ok(ReconcileResult::Done);
    }
    if update_reclaimable_pods(env, job, &wl).await?
        || update_pods_ready_condition(env, job, &wl).await?
    {
        return Ok(ReconcileResult::Done);
    }
    if let Some(eviction) = predicates::true_condition(&wl, c::EVICTED) {
        let (reason, message) = (eviction.reason.clone(), eviction.message.clone());
        return handle_evicted_workload(env, job, &wl, reason, &message).await;
    }
    if job.is_suspended() {
        return handle_suspended_job(env, job, &wl).await;
    }
    if !predicates::is_admitted(&wl) && !job_annotations::is_elastic(job.meta(), &env.gates) {
        let infos = pod_set_infos::pod_set_infos_from_workload(Some(&wl));
        job.stop(
            env,
            &infos,
            &StopReason::NotAdmitted,
            "Not admitted by cluster queue",
        )
        .await?;
    }
    Ok(ReconcileResult::Done)
}

/// Releases the quota of a Workload whose job is on hold.
async fn put_on_hold(env: &IntegrationContext, wl: &Workload) -> Result<ReconcileResult, JobError> {
    if predicates::has_quota_reservation(wl) {
        let (now, gates) = (env.shared.now(), env.shared.engine_gates.clone());
        workload_patching::patch_admission_status(&env.shared, wl, StatusApplyMode::Strict, |wl| {
            unset_quota_reservation(wl, quota_reserved::ON_HOLD, "Job is on hold", now, &gates)
        })
        .await?;
    }
    Ok(ReconcileResult::Done)
}

async fn apply_status(
    env: &IntegrationContext,
    wl: &Workload,
    manager: &str,
    status: &WorkloadStatus,
) -> Result<Arc<Workload>, JobError> {
    let value = serde_json::to_value(status).unwrap_or_default();
    Ok(workload_patching::apply_workload_status(
        &env.shared,
        wl,
        manager,
        value,
        StatusApplyMode::Strict,
    )
    .await?)
}

async fn update_reclaimable_pods(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    wl: &Workload,
) -> Result<bool, JobError> {
    if !env.enabled(Feature::ReclaimablePods) {
        return Ok(false);
    }
    let Some(mut pods) = job.reclaimable_pods(env) else {
        return Ok(false);
    };
    for pod in &mut pods {
        let set = wl.spec.pod_sets.iter().find(|ps| ps.name == pod.name);
        pod.count = set.map_or(pod.count, |ps| pod.count.min(ps.count));
    }
    let sorted = |list: &[ReclaimablePod]| {
        let mut list: Vec<_> = list.iter().map(|p| (p.name.clone(), p.count)).collect();
        list.sort();
        list
    };
    if sorted(&pods) == sorted(&wl.status.reclaimable_pods) {
        return Ok(false);
    }
    let status = WorkloadStatus {
        reclaimable_pods: pods,
        ..Default::default()
    };
    apply_status(env, wl, c::RECLAIMABLE_PODS_MANAGER, &status).await?;
    let rest = job.reclaimable_pods_write_delay(&env.shared.settings.upstream_latency);
    if !rest.is_zero() {
        env.shared.ctx.clock.sleep(rest).await;
    }
    Ok(true)
}

async fn update_pods_ready_condition(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    wl: &Workload,
) -> Result<bool, JobError> {
    let recently_lost = env
        .recent_quota_losses
        .recent_for_remaining(wl, env.shared.now())
        .is_some();
    if env.shared.settings.wait_for_pods_ready.is_none() || recently_lost {
        return Ok(false);
    }
    // Any change counts as a transition: server-side apply does not see the previous condition.
    let Some(wanted) = pods_ready::generate_pods_ready_condition(env, job, wl) else {
        return Ok(false);
    };
    let manager = format!("{}-{}", c::JOB_CONTROLLER, c::PODS_READY);
    let status = WorkloadStatus {
        conditions: vec![wanted],
        ..Default::default()
    };
    ignore_not_found(apply_status(env, wl, &manager, &status).await.map(drop))?;
    Ok(true)
}

async fn handle_suspended_job(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
    wl: &Workload,
) -> Result<ReconcileResult, JobError> {
    if predicates::is_admitted(wl) {
        return start_job(env, job, wl).await;
    }
    if predicates::has_quota_reservation(wl) {
        record_admission_check_update(env, job, wl);
    }
    let queue = job_annotations::queue_name(job.meta());
    if job.syncs_queue_name() && wl.spec.queue_name != queue {
        let mut updated = wl.clone();
        updated.spec.queue_name = queue.to_owned();
        update_workload(env, &updated).await?;
    }
    Ok(ReconcileResult::Done)
}

/// Whether a Workload has a MultiKueue check (upstream `ShouldSkipLocalExecution`).
fn runs_in_worker_cluster(env: &IntegrationContext, wl: &Workload) -> bool {
    let checks = &env.shared.informers.admission_checks;
    env.enabled(Feature::MultiKueue)
        && wl.status.admission_checks.iter().any(|state| {
            let check = checks.get(&ObjectKey::cluster(&state.name));
            check.is_some_and(|check| check.spec.controller_name == c::MULTI_KUEUE_CONTROLLER)
        })
}

async fn start_job(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
    wl: &Workload,
) -> Result<ReconcileResult, JobError> {
    let queue = wl
        .status
        .admission
        .as_ref()
        .map_or("", |a| a.cluster_queue.as_str());
    if job.is_composable() && runs_in_worker_cluster(env, wl) {
        return Ok(ReconcileResult::Done);
    }
    let message = format!("Admitted by clusterQueue {queue}");
    let started = match pod_set_infos::pod_set_infos_from_status(env, wl) {
        Ok(infos) => job.start(env, &infos, &message).await,
        Err(error) => Err(error),
    };
    match started {
        Err(JobError::PodSetInfo(error)) => {
            finish_workload(env, wl, finished::FAILED_TO_START, &error.to_string()).await?;
            Ok(ReconcileResult::Done)
        }
        other => other.map(|()| ReconcileResult::Done),
    }
}

fn record_admission_check_update(env: &IntegrationContext, job: &dyn GenericJob, wl: &Workload) {
    let checks = wl.status.admission_checks.iter();
    let pending =
        checks.filter(|check| check.state == CheckState::Pending && !check.message.is_empty());
    let texts: Vec<String> = pending
        .map(|check| format!("{}: {}", check.name, check.message))
        .collect();
    if !texts.is_empty() {
        for member in job.members() {
            env.record_normal_event(member, event::UPDATED_ADMISSION_CHECK, texts.join("; "));
        }
    }
}
