//! Reconciles a Workload with its copies in worker clusters.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kueue_lab_controller_runtime::ReconcileResult;

use super::nominate_workers::nominate_and_synchronize_workers;
use super::preemption_gate::open_preemption_gate;
use super::sync_admitting_remote::sync_admitting_remote;
use super::workload::{requeue_after, update_check};
use super::workload_group::WorkloadGroup;
use crate::event_recorder::EventSpec;
use crate::jobs::error::JobError;
use crate::jobs::multikueue::validate_remote_object_ownership;
use crate::workload_patching::{StatusApplyMode, patch_admission_status};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event, finished};
use kueue_lab_api::v1beta2::{CheckState, Workload};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::status::finish;
use kueue_lab_engine::workload::{is_priority_changed, is_scaled_down, predicates};
use kueue_lab_engine::workload_slicing::replacement_for_key;

/// The delay of a sync that waits until the local job is unsuspended, which is not watched.
const SYNC_DEFERRED_REQUEUE_AFTER: Duration = Duration::from_secs(2);

/// The result of a sync.
pub(super) fn deferred_sync(deferred: bool, otherwise: Duration) -> ReconcileResult {
    requeue_after(match deferred {
        true => SYNC_DEFERRED_REQUEUE_AFTER,
        false => otherwise,
    })
}

/// Reconciles a Workload with its copies.
///
/// # Errors
/// A request fails.
pub(super) async fn reconcile_group(
    mut group: WorkloadGroup<'_>,
) -> Result<ReconcileResult, JobError> {
    let has_quota = predicates::has_quota_reservation(&group.local);
    if group.is_elastic() && is_slice_in_transition(&group, has_quota) {
        return Ok(ReconcileResult::Done);
    }
    if group.is_finished() || !has_quota {
        return remove_all_remote_objects(group).await;
    }
    if let Some((condition, cluster)) = group.best_match_by_condition(c::FINISHED) {
        let is_out_of_sync = condition.reason == finished::OUT_OF_SYNC && !group.is_elastic();
        return match is_out_of_sync {
            true => reset_out_of_sync(&mut group, &cluster).await,
            false => finish_local(&group, &condition, &cluster).await,
        };
    }
    if let Some((_, cluster)) = group.best_match_by_condition(c::EVICTED)
        && let Some(result) = handle_remote_eviction(&group, &cluster).await?
    {
        return Ok(result);
    }
    sync_remote_specs(&mut group).await?;
    match group.best_match_by_condition(c::ADMITTED) {
        Some((_, cluster)) => sync_admitting_remote(group, &cluster).await,
        None if group.check.state == CheckState::Ready => handle_lost_remote(&group).await,
        None => {
            let next_gate = open_preemption_gate(&mut group).await?;
            let (wl, elastic) = (&group.local, group.is_elastic());
            if !predicates::should_skip_cluster_nomination(wl, Some(&group.check), elastic) {
                nominate_and_synchronize_workers(&mut group).await?;
            }
            Ok(requeue_after(next_gate))
        }
    }
}

/// Whether an elastic Workload was replaced by a new slice, or waits for quota as one.
fn is_slice_in_transition(group: &WorkloadGroup<'_>, has_quota: bool) -> bool {
    match predicates::true_condition(&group.local, c::FINISHED) {
        Some(condition) => condition.reason == finished::WORKLOAD_SLICE_REPLACED,
        None => !has_quota && replacement_for_key(&group.local).is_some(),
    }
}

/// Deletes the copies of a Workload that is finished or has no quota.
async fn remove_all_remote_objects(
    mut group: WorkloadGroup<'_>,
) -> Result<ReconcileResult, JobError> {
    let mut failed = Ok(());
    for cluster in group.clusters() {
        if let Err(error) = group.remove_remote_objects(&cluster).await {
            tracing::debug!(cluster, %error, "cannot delete a remote Workload");
            failed = Err(error);
        }
    }
    failed?;
    Ok(match group.unavailable_clusters.is_empty() {
        true => ReconcileResult::Done,
        false => requeue_after(group.mk.worker_lost_timeout()),
    })
}

async fn validate_ownership(group: &WorkloadGroup<'_>, cluster: &str) -> Result<(), JobError> {
    let (client, origin) = (group.client(cluster)?, group.mk.origin());
    validate_remote_object_ownership(group.adapter, &client, &group.job, origin).await?;
    Ok(())
}

/// Syncs the job with a cluster; returns whether the status is not copied yet.
///
/// # Errors
/// A request fails, or the remote job is not of this manager.
pub(super) async fn sync_job(group: &WorkloadGroup<'_>, cluster: &str) -> Result<bool, JobError> {
    validate_ownership(group, cluster).await?;
    let client = group.client(cluster)?;
    group.adapter.sync_job(&group.sync(&client)).await
}

/// Records an Event about the written version of the Workload.
pub(super) fn record_event(
    group: &WorkloadGroup<'_>,
    written: &Workload,
    type_: EventType,
    message: String,
) {
    let spec = EventSpec::new(c::WORKLOAD_CONTROLLER, type_, event::MULTI_KUEUE, message);
    let recorder = &group.mk.shared.recorder;
    recorder.record(written, spec);
}

/// Resets a Workload whose copy did not match its job, so that it is dispatched again.
///
/// The eviction of the Workload and its next admission may be observed together: a remaining copy
/// of the previous admission is deleted.
async fn reset_out_of_sync(
    group: &mut WorkloadGroup<'_>,
    cluster: &str,
) -> Result<ReconcileResult, JobError> {
    match group.check.state {
        CheckState::Ready => {
            let message = format!(
                "Remote workload on worker cluster {cluster:?} is out of sync with its user job, resetting for re-dispatch"
            );
            let (mk, state) = (group.mk, CheckState::Retry);
            let (written, message) =
                update_check(mk, &group.local, &group.check, state, &message).await?;
            record_event(group, &written, EventType::Warning, message);
        }
        CheckState::Pending => group.remove_remote_objects(cluster).await?,
        _ => {}
    }
    Ok(ReconcileResult::Done)
}

/// Finishes the Workload as its copy.
async fn finish_local(
    group: &WorkloadGroup<'_>,
    condition: &Condition,
    cluster: &str,
) -> Result<ReconcileResult, JobError> {
    sync_job(group, cluster).await?;
    let (shared, now) = (&group.mk.shared, group.mk.shared.now());
    let mode = StatusApplyMode::Strict;
    patch_admission_status(shared, &group.local, mode, |wl| {
        finish(wl, &condition.reason, &condition.message, now)
    })
    .await?;
    Ok(ReconcileResult::Done)
}

/// After an eviction in the manager, the status of the job is synced; after one in the worker
/// cluster, the check is reset. None if there is nothing to do.
async fn handle_remote_eviction(
    group: &WorkloadGroup<'_>,
    cluster: &str,
) -> Result<Option<ReconcileResult>, JobError> {
    if predicates::is_evicted(&group.local) {
        let deferred = sync_job(group, cluster).await?;
        return Ok(Some(deferred_sync(deferred, Duration::ZERO)));
    }
    if group.check.state != CheckState::Ready {
        return Ok(None);
    }
    let admitting = group.local.status.cluster_name.as_deref();
    let message = format!(
        "Workload evicted on worker cluster: {:?}, resetting for re-admission. Previously: {:?}",
        admitting.unwrap_or_default(),
        group.check.state.as_str()
    );
    let (shared, now) = (&group.mk.shared, group.mk.shared.now());
    let mode = StatusApplyMode::Strict;
    let written = patch_admission_status(shared, &group.local, mode, |wl| {
        set_check_state(wl, &group.check.name, CheckState::Retry, &message, now);
        true
    });
    let written = written.await?.unwrap_or_else(|| group.local.clone());
    record_event(group, &written, EventType::Normal, message);
    Ok(Some(ReconcileResult::Done))
}

/// Sets state and message of a check. The transition time changes with the state.
pub(super) fn set_check_state(
    wl: &mut Workload,
    name: &str,
    state: CheckState,
    message: &str,
    now: Timestamp,
) {
    let mut checks = wl.status.admission_checks.iter_mut();
    if let Some(check) = checks.find(|check| check.name == name) {
        if check.state != state {
            check.last_transition_time = Some(Time(now));
        }
        check.state = state;
        check.message = message.to_owned();
    }
}

/// Whether the specs differ in more than the preemption gates, which are specific to each cluster.
fn is_remote_spec_out_of_sync(local: &Workload, remote: &Workload) -> bool {
    let without_gates = |wl: &Workload| {
        let mut spec = wl.spec.clone();
        spec.preemption_gates.clear();
        spec
    };
    without_gates(local) != without_gates(remote)
}

/// Updates copies of Workloads that were scaled down or have another priority; deletes others whose
/// spec differs.
async fn sync_remote_specs(group: &mut WorkloadGroup<'_>) -> Result<(), JobError> {
    let settings = &group.mk.shared.settings;
    let orchestrated = settings.enabled(Feature::MultiKueueOrchestratedPreemption);
    for cluster in group.clusters() {
        let (Some(remote), local) = (group.remote(&cluster), &group.local) else {
            continue;
        };
        if !is_remote_spec_out_of_sync(local, remote) {
            continue;
        }
        let mut updated = remote.clone();
        let is_smaller = group.is_elastic() && is_scaled_down(remote, local);
        if is_smaller {
            updated.spec = local.spec.clone();
        }
        let is_reprioritized = is_priority_changed(local, &updated, &group.mk.shared.engine_gates);
        if is_reprioritized {
            let spec = &local.spec;
            updated.spec.priority_class_ref = spec.priority_class_ref.clone();
            updated.spec.priority = spec.priority;
        }
        if !is_smaller && !is_reprioritized {
            group.remove_remote_objects(&cluster).await?;
            continue;
        }
        if orchestrated {
            updated.spec.preemption_gates = remote.spec.preemption_gates.clone();
        }
        group.update_remote(&cluster, &updated).await?;
    }
    Ok(())
}

/// The check is ready, but no copy is admitted: waits while the worker cluster is lost for a short
/// time, otherwise dispatches the Workload again.
async fn handle_lost_remote(group: &WorkloadGroup<'_>) -> Result<ReconcileResult, JobError> {
    let mk = group.mk;
    let admitting = group
        .local
        .status
        .cluster_name
        .as_deref()
        .unwrap_or_default();
    let is_lost = group.unavailable_clusters.iter().any(|c| c == admitting);
    let message = if admitting.is_empty() {
        "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"
    } else if is_lost {
        let now = mk.shared.now();
        let client = mk.remote_client(admitting);
        let since = client.and_then(|client| client.lost_since()).unwrap_or(now);
        let timeout = SignedDuration::try_from(mk.worker_lost_timeout()).unwrap_or_default();
        let remaining = Duration::try_from(timeout - now.duration_since(since));
        if let Ok(remaining) = remaining
            && !remaining.is_zero()
        {
            return Ok(ReconcileResult::RequeueAfter(remaining));
        }
        "Admitting remote lost"
    } else {
        "Admitting remote no longer exists"
    };
    update_check(mk, &group.local, &group.check, CheckState::Retry, message).await?;
    Ok(ReconcileResult::Done)
}
