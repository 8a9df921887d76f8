//! Requeueing of an active Workload after its backoff.

use std::sync::Arc;

use jiff::SignedDuration;

use super::unadmitted_conditions::set_requeued_condition;
use crate::ControllerContext;
use crate::update;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_admission::workload::predicates::{self, Status};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_runtime::ReconcileResult;

/// The remaining backoff of a Workload; negative once it elapsed.
fn backoff_remaining(wl: &Workload, now: jiff::Timestamp) -> Option<SignedDuration> {
    let at = wl.status.requeue_state.as_ref()?.requeue_at.as_ref()?;
    Some(at.0.duration_since(now))
}

fn clear_requeue_at(wl: &mut Workload) {
    if let Some(state) = &mut wl.status.requeue_state {
        state.requeue_at = None;
    }
}

/// Deactivates a Workload with DeactivationTarget and requeues one after its backoff. None if
/// neither applies.
pub(super) async fn reconcile_active(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<Option<ReconcileResult>> {
    if wl.is_condition_true(c::DEACTIVATION_TARGET) {
        let mut after = Workload::clone(wl);
        after.spec.active = Some(false);
        let api = workload_patching::workload_api(shared, predicates::namespace(wl));
        let written = update::update(&api, &after).await?;
        shared.informers.workloads.observe_write(written);
        return Ok(Some(ReconcileResult::Done));
    }
    let now = shared.now();
    if let Some(left) = backoff_remaining(wl, now) {
        if left > SignedDuration::ZERO {
            return Ok(Some(ReconcileResult::RequeueAfter(left.unsigned_abs())));
        }
        if predicates::status(wl) == Status::Pending {
            requeue_after_backoff(shared, wl).await?;
            return Ok(Some(ReconcileResult::Done));
        }
    }
    set_requeued_after_backoff(shared, wl).await
}

/// Requeues a Workload whose backoff elapsed.
async fn requeue_after_backoff(shared: &ControllerContext, wl: &Arc<Workload>) -> kube::Result<()> {
    let written =
        workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
            clear_requeue_at(wl);
            true
        })
        .await?;
    let wl = written.as_ref().unwrap_or(wl);
    let now = shared.now();
    shared.update_engine(|engine| {
        if predicates::is_admissible(wl, &engine.config().gates) {
            engine.requeue_workload(&predicates::key(wl), now);
        }
    });
    Ok(())
}

/// Sets Requeued to True after a reactivation or an elapsed backoff.
async fn set_requeued_after_backoff(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<Option<ReconcileResult>> {
    let Some(cond) = predicates::false_condition(wl, c::REQUEUED) else {
        return Ok(None);
    };
    let now = shared.now();
    let (reason, message) = match cond.reason.as_str() {
        c::evicted::DEACTIVATED => (c::requeued::REACTIVATED, "The workload was reactivated"),
        c::evicted::PODS_READY_TIMEOUT | c::evicted::ADMISSION_CHECK => {
            if let Some(left) =
                backoff_remaining(wl, now).filter(|left| *left > SignedDuration::ZERO)
            {
                return Ok(Some(ReconcileResult::RequeueAfter(left.unsigned_abs())));
            }
            (
                c::requeued::BACKOFF_FINISHED,
                "The workload backoff was finished",
            )
        }
        _ => return Ok(None),
    };
    workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
        if reason == c::requeued::BACKOFF_FINISHED {
            clear_requeue_at(wl);
        }
        set_requeued_condition(wl, reason, message, true, now);
        true
    })
    .await?;
    Ok(Some(ReconcileResult::Done))
}
