//! The generic reconciler: syncs a job with its Workload.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;

use super::ancestor_job::{AncestorError, AncestorJob, MANAGED_OWNERS_CHAIN_LIMIT};
use super::ensure_one_workload::{create_workload, ensure_one_workload, finalize_workloads};
use super::error::{JobError, ignore_not_found};
use super::generic_job::{GenericJob, StopReason};
use super::integration_context::IntegrationContext;
use super::patching::{finish_workload, remove_finalizer, update_workload};
use super::{pod_set_infos, pods_ready};
use crate::job_annotations;
use crate::object_meta;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::status::{release_evicted, set_condition, unset_quota_reservation};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event, evicted, finished, quota_reserved};
use kueue_lab_api::v1beta2::{CheckState, ReclaimablePod, Workload, WorkloadStatus};
use kueue_lab_runtime::{ObjectKey, ReconcileResult};

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

/// How a job is managed.
enum JobManagement {
    /// Not by Kueue.
    Unmanaged,
    /// With its own Workload.
    Managed,
    /// As part of this ancestor.
    ChildOf(Box<AncestorJob>),
}

async fn job_management(
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

fn should_suspend_child_job(
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
    let put_off = env
        .recent_quota_losses
        .recent_for_remaining(&wl, env.shared.now());
    let outcome = sync_job_with_workload(env, job, wl).await?;
    Ok(match (outcome, put_off) {
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
        let (now, gates) = (env.shared.now(), env.engine_gates.clone());
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

/// Releases the quota of an evicted pod group whose pods are gone. Upstream releases it while the
/// last pod is terminated and not yet deleted, and keeps it for good if it misses that moment.
async fn release_quota_without_pods(
    env: &IntegrationContext,
    job: &dyn GenericJob,
) -> Result<(), JobError> {
    for wl in job.list_child_workloads(env) {
        let is_group = predicates::annotation(&wl, c::IS_GROUP_WORKLOAD_ANNOTATION).is_some();
        let over = predicates::is_finished(&wl) || wl.metadata.deletion_timestamp.is_some();
        if !is_group || over || !predicates::has_quota_reservation(&wl) {
            continue;
        }
        if let Some(eviction) = predicates::true_condition(&wl, c::EVICTED) {
            release_quota(env, &wl, &eviction.reason, &eviction.message).await?;
        }
    }
    Ok(())
}

/// Releases the quota of an evicted Workload.
async fn release_quota(
    env: &IntegrationContext,
    wl: &Workload,
    reason: &str,
    message: &str,
) -> Result<(), JobError> {
    let now = env.shared.now();
    let requeued = requeues_immediately(env, wl, reason);
    let gates = env.engine_gates.clone();
    workload_patching::patch_admission_status(&env.shared, wl, StatusApplyMode::Strict, |wl| {
        release_evicted(wl, reason, message, requeued, now, &gates)
    })
    .await?;
    Ok(())
}

async fn handle_evicted_workload(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
    wl: &Workload,
    reason: String,
    message: &str,
) -> Result<ReconcileResult, JobError> {
    let infos = pod_set_infos::pod_set_infos_from_workload(Some(wl));
    let stop = StopReason::WorkloadEvicted(reason.clone());
    job.stop(env, &infos, &stop, message).await?;
    if predicates::has_quota_reservation(wl) && !job.is_active(env) {
        release_quota(env, wl, &reason, message).await?;
    }
    handle_workload_after_deactivated_policy(env, job, wl).await
}

/// Whether a Workload may be requeued as soon as quota is released: its eviction was not caused by
/// itself, and its job continues to exist.
fn requeues_immediately(env: &IntegrationContext, wl: &Workload, reason: &str) -> bool {
    let requeued_reason = [evicted::PREEMPTED, evicted::NODE_FAILURES].contains(&reason);
    let owners = wl.metadata.owner_references.as_deref().unwrap_or_default();
    let of_one_pod = matches!(owners, [owner] if owner.kind == "Pod" && owner.api_version == "v1")
        && predicates::annotation(wl, c::IS_GROUP_WORKLOAD_ANNOTATION).is_none();
    requeued_reason && !(env.enabled(Feature::SkipReassignmentForPodOwnedWorkloads) && of_one_pod)
}

/// Deletes a job that Kueue deactivated, after its retention.
async fn handle_workload_after_deactivated_policy(
    env: &IntegrationContext,
    job: &mut dyn GenericJob,
    wl: &Workload,
) -> Result<ReconcileResult, JobError> {
    let policies = env
        .shared
        .settings
        .configuration
        .object_retention_policies
        .as_ref();
    let retention = policies
        .and_then(|p| p.workloads.as_ref())
        .and_then(|w| w.after_deactivated_by_kueue.as_ref());
    let by_kueue = format!("{}DueTo", evicted::DEACTIVATED);
    let eviction = wl
        .condition(c::EVICTED)
        .filter(|e| e.reason.starts_with(&by_kueue));
    let (Some(retention), Some(eviction)) = (retention, eviction) else {
        return Ok(ReconcileResult::Done);
    };
    if wl.spec.is_active() {
        return Ok(ReconcileResult::Done);
    }
    let kept = env
        .shared
        .now()
        .duration_since(eviction.last_transition_time.0);
    let span = SignedDuration::try_from(retention.to_std()).unwrap_or(SignedDuration::MAX);
    if kept < span {
        let remaining = Duration::try_from(span - kept).unwrap_or_default();
        return Ok(ReconcileResult::RequeueAfter(remaining));
    }
    job.delete(env).await?;
    env.record_normal_event(
        job.reference(),
        event::DELETED,
        "Deleted job: deactivation retention period expired",
    );
    job.finalize(env).await?;
    Ok(ReconcileResult::Done)
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
