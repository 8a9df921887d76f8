//! The requeue state of a Workload: the backoff, the limit of requeues, and requeueing after the
//! backoff.

use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::deactivation::set_deactivation_target;
use super::unadmitted_conditions::set_requeued_condition;
use crate::ControllerContext;
use crate::exponential_backoff::ExponentialBackoff;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::config::RequeuingStrategy;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::ReconcileResult;
use kueue_lab_engine::workload::predicates::{self, Status};

/// The number of requeues of a Workload including the next one.
fn next_requeue_count(wl: &Workload) -> i32 {
    let state = wl.status.requeue_state.as_ref();
    state.and_then(|s| s.count).unwrap_or(0).saturating_add(1)
}

/// Triggers the deactivation of a Workload if its next requeue would exceed the limit. True if it
/// did.
pub(super) async fn trigger_deactivation(
    shared: &ControllerContext,
    wl: &Workload,
    strategy: &RequeuingStrategy,
) -> kube::Result<bool> {
    let limit = strategy.backoff_limit_count;
    if limit.is_none_or(|limit| next_requeue_count(wl) <= limit) {
        return Ok(false);
    }
    let reason = c::deactivation::REQUEUING_LIMIT_EXCEEDED;
    let message = "exceeding the maximum number of re-queuing retries";
    set_deactivation_target(shared, wl, reason, message, |_| {}).await?;
    Ok(true)
}

/// Increments the number of requeues of a Workload and sets when it is requeued; `jitter` is in
/// `[0, 1)`. A later time stays.
pub(super) fn update_requeue_state(
    wl: &mut Workload,
    strategy: &RequeuingStrategy,
    now: jiff::Timestamp,
    jitter: f64,
) {
    let count = next_requeue_count(wl);
    let delay = requeue_backoff(strategy, count, jitter);
    let at = now.saturating_add(delay).unwrap_or(jiff::Timestamp::MAX);
    let state = wl.status.requeue_state.get_or_insert_default();
    if state.requeue_at.as_ref().is_none_or(|known| known.0 < at) {
        state.requeue_at = Some(Time(at));
    }
    state.count = Some(count);
}

/// The backoff before requeue number `count`; `jitter` is in `[0, 1)`.
fn requeue_backoff(strategy: &RequeuingStrategy, count: i32, jitter: f64) -> SignedDuration {
    let backoff = ExponentialBackoff {
        base_seconds: strategy.backoff_base_seconds(),
        max_seconds: strategy.backoff_max_seconds(),
    };
    backoff.before(count, jitter)
}

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

/// Requeues an active Workload after its backoff. None if it waits for none.
pub(super) async fn reconcile_requeue_backoff(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<Option<ReconcileResult>> {
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
