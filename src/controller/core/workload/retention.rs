//! Workload retention: finished Workloads are deleted after their retention, orphaned ones are
//! finished.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kube::api::DeleteParams;

use super::super::finalizer;
use super::workload_controller::record_event;
use crate::ControllerContext;
use crate::update;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::status::finish;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_runtime::ReconcileResult;

/// Whether a Workload is orphaned: it has no owner, and it is terminating or belonged to a job.
fn is_orphaned_workload(shared: &ControllerContext, wl: &Workload) -> bool {
    let owned = wl
        .metadata
        .owner_references
        .as_ref()
        .is_some_and(|o| !o.is_empty());
    let of_job = predicates::label(wl, c::JOB_UID_LABEL).is_some_and(|uid| !uid.is_empty());
    let finishes = shared.settings.enabled(Feature::FinishOrphanedWorkloads);
    !owned && (wl.metadata.deletion_timestamp.is_some() || (finishes && of_job))
}

/// Finishes an orphaned Workload and removes its finalizer. None if the reconciliation ends here.
pub(super) async fn finish_orphaned(
    shared: &ControllerContext,
    mut wl: Arc<Workload>,
) -> kube::Result<Option<Arc<Workload>>> {
    if !is_orphaned_workload(shared, &wl) {
        return Ok(Some(wl));
    }
    let finishes = shared.settings.enabled(Feature::FinishOrphanedWorkloads);
    let terminating = wl.metadata.deletion_timestamp.is_some();
    if finishes && !terminating {
        let now = shared.now();
        let message = "The workload's owner no longer exists";
        let written =
            workload_patching::patch_admission_status(shared, &wl, StatusApplyMode::Strict, |wl| {
                finish(wl, c::finished::OWNER_NOT_FOUND, message, now)
            })
            .await?;
        wl = written.unwrap_or(wl);
    }
    let wl = remove_finalizer(shared, wl).await?;
    Ok((finishes && !terminating).then_some(wl))
}

/// Removes Kueue's finalizer from a Workload.
async fn remove_finalizer(
    shared: &ControllerContext,
    wl: Arc<Workload>,
) -> kube::Result<Arc<Workload>> {
    let mut after = Workload::clone(&wl);
    if !finalizer::remove_finalizer(&mut after.metadata) {
        return Ok(wl);
    }
    let api = workload_patching::workload_api(shared, predicates::namespace(&wl));
    let written = update::update(&api, &after).await?;
    if written.metadata.deletion_timestamp.is_none() {
        shared.informers.workloads.observe_write(written.clone());
    }
    Ok(written)
}

/// Deletes a finished Workload after its retention. None if it is not finished.
pub(super) async fn delete_after_retention(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<Option<ReconcileResult>> {
    let Some(finished) = predicates::true_condition(wl, c::FINISHED) else {
        return Ok(None);
    };
    let policies = shared
        .settings
        .configuration
        .object_retention_policies
        .as_ref();
    let retention = policies
        .and_then(|p| p.workloads.as_ref())
        .and_then(|w| w.after_finished);
    let Some(retention) = retention else {
        return Ok(Some(ReconcileResult::Done));
    };
    let retention: Duration = retention.to_std();
    let retention = SignedDuration::try_from(retention).unwrap_or(SignedDuration::MAX);
    let expires_at = finished.last_transition_time.0.saturating_add(retention);
    let remaining = expires_at
        .unwrap_or(jiff::Timestamp::MAX)
        .duration_since(shared.now());
    if remaining > SignedDuration::ZERO {
        return Ok(Some(ReconcileResult::RequeueAfter(
            remaining.unsigned_abs(),
        )));
    }
    let wl = remove_finalizer(shared, wl.clone()).await?;
    if wl.metadata.deletion_timestamp.is_some() {
        return Ok(Some(ReconcileResult::Done));
    }
    let api = workload_patching::workload_api(shared, predicates::namespace(&wl));
    api.delete(predicates::name(&wl), &DeleteParams::default())
        .await?;
    let message = "Deleted finished workload due to elapsed retention";
    record_event(shared, &wl, EventType::Normal, c::event::DELETED, message);
    Ok(Some(ReconcileResult::Done))
}
