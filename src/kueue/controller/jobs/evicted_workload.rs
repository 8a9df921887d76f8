//! A job whose Workload is evicted: the job is stopped, the quota is released, and a deactivated
//! job is deleted after its retention.

use std::time::Duration;

use super::error::JobError;
use super::generic_job::{GenericJob, StopReason};
use super::integration_context::IntegrationContext;
use super::pod_set_infos;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event, evicted};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::ReconcileResult;
use kueue_lab_engine::status::release_evicted;
use kueue_lab_engine::workload::predicates;

/// Releases the quota of an evicted pod group whose pods are gone. Upstream releases it while the
/// last pod is terminated and not yet deleted, and otherwise never.
pub(super) async fn release_quota_without_pods(
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
    let gates = env.shared.engine_gates.clone();
    workload_patching::patch_admission_status(&env.shared, wl, StatusApplyMode::Strict, |wl| {
        release_evicted(wl, reason, message, requeued, now, &gates)
    })
    .await?;
    Ok(())
}

pub(super) async fn handle_evicted_workload(
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
    let settings = &env.shared.settings;
    let retention = settings.workload_retention(|w| w.after_deactivated_by_kueue);
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
    if kept < retention {
        let remaining = Duration::try_from(retention - kept).unwrap_or_default();
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
