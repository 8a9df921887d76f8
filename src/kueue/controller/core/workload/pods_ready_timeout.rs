//! The PodsReady timeout of an admitted Workload.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;

use super::evict::evict;
use super::requeue_backoff::{trigger_deactivation, update_requeue_state};
use crate::ControllerContext;
use kueue_lab_api::config::WaitForPodsReady;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::status::Eviction;
use kueue_lab_engine::workload::predicates;

fn signed(duration: kueue_lab_api::config::Duration) -> SignedDuration {
    SignedDuration::from_nanos(duration.as_nanos())
}

/// The reason a Workload's pods are not ready and the time left until the timeout. None if they are
/// ready or there is no timeout.
fn admitted_not_ready_workload(
    wl: &Workload,
    waiting: &WaitForPodsReady,
    now: jiff::Timestamp,
) -> Option<(&'static str, SignedDuration)> {
    let admitted = predicates::true_condition(wl, c::ADMITTED)?;
    let ready = wl.condition(c::PODS_READY);
    match ready {
        Some(cond) if cond.status == "True" => None,
        Some(cond) if cond.reason == c::pods_ready::WAIT_FOR_RECOVERY => {
            let limit = waiting.recovery_timeout.map(signed)?;
            let since = now.duration_since(cond.last_transition_time.0);
            (limit > SignedDuration::ZERO)
                .then(|| (c::pods_ready::WAIT_FOR_RECOVERY, limit - since))
        }
        Some(cond)
            if cond.reason != c::pods_ready::WAIT_FOR_START && cond.reason != c::PODS_READY =>
        {
            None
        }
        _ => {
            let since = now.duration_since(admitted.last_transition_time.0);
            Some((
                c::pods_ready::WAIT_FOR_START,
                signed(waiting.timeout) - since,
            ))
        }
    }
}

/// Evicts a Workload after the PodsReady timeout; returns the time left until then.
pub(super) async fn reconcile_not_ready_timeout(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<Option<Duration>> {
    let Some(waiting) = &shared.settings.wait_for_pods_ready else {
        return Ok(None);
    };
    if !wl.spec.is_active()
        || predicates::is_evicted(wl)
        || super::concurrent_admission::is_concurrent_admission_variant(shared, wl)
    {
        return Ok(None);
    }
    let Some((cause, remaining)) = admitted_not_ready_workload(wl, waiting, shared.now()) else {
        return Ok(None);
    };
    if remaining > SignedDuration::ZERO {
        return Ok(Some(remaining.unsigned_abs()));
    }
    let strategy = waiting.requeuing_strategy.clone().unwrap_or_default();
    if trigger_deactivation(shared, wl, &strategy).await? {
        return Ok(None);
    }
    let (namespace, name) = (predicates::namespace(wl), predicates::name(wl));
    let eviction = Eviction {
        reason: c::evicted::PODS_READY_TIMEOUT.to_owned(),
        cause: cause.to_owned(),
        message: format!("Exceeded the PodsReady timeout {namespace}/{name}"),
    };
    let (now, jitter) = (shared.now(), shared.ctx.entropy.unit());
    evict(shared, wl, &eviction, |wl| {
        update_requeue_state(wl, &strategy, now, jitter);
    })
    .await?;
    Ok(None)
}
