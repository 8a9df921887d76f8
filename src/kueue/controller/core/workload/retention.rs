//! Workload retention: finished Workloads are deleted after their retention.

use std::sync::Arc;

use jiff::SignedDuration;
use kube::api::DeleteParams;

use super::super::resource_in_use_finalizer;
use super::workload_controller::record_event;
use crate::ControllerContext;
use crate::update;
use crate::workload_patching;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::ReconcileResult;
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

/// Removes Kueue's finalizer from a Workload.
pub(super) async fn remove_finalizer(
    shared: &ControllerContext,
    wl: Arc<Workload>,
) -> kube::Result<Arc<Workload>> {
    let mut after = Workload::clone(&wl);
    if !resource_in_use_finalizer::remove_finalizer(&mut after.metadata) {
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
    let Some(retention) = shared.settings.workload_retention(|w| w.after_finished) else {
        return Ok(Some(ReconcileResult::Done));
    };
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
