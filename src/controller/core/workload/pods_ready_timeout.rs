//! The PodsReady timeout of an admitted Workload.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::deactivation::set_deactivation_target;
use super::evict::evict;
use crate::ControllerContext;
use kueue_lab_admission::status::Eviction;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::config::{RequeuingStrategy, WaitForPodsReady};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// Backoffs are extended by at most this fraction.
const JITTER: f64 = 0.0001;

fn signed(span: kueue_lab_api::config::Duration) -> SignedDuration {
    SignedDuration::from_nanos(span.as_nanos())
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
    let count = wl
        .status
        .requeue_state
        .as_ref()
        .and_then(|s| s.count)
        .unwrap_or(0);
    let next = count.saturating_add(1);
    if strategy
        .backoff_limit_count
        .is_some_and(|limit| next > limit)
    {
        let reason = c::deactivation::REQUEUING_LIMIT_EXCEEDED;
        let message = "exceeding the maximum number of re-queuing retries";
        set_deactivation_target(shared, wl, reason, message, |_| {}).await?;
        return Ok(None);
    }
    let (namespace, name) = (predicates::namespace(wl), predicates::name(wl));
    let eviction = Eviction {
        reason: c::evicted::PODS_READY_TIMEOUT.to_owned(),
        cause: cause.to_owned(),
        message: format!("Exceeded the PodsReady timeout {namespace}/{name}"),
    };
    let delay = requeue_backoff(&strategy, next, shared.ctx.entropy.unit());
    let at = shared
        .now()
        .saturating_add(delay)
        .unwrap_or(jiff::Timestamp::MAX);
    evict(shared, wl, &eviction, |wl| {
        let state = wl.status.requeue_state.get_or_insert_default();
        if state.requeue_at.as_ref().is_none_or(|known| known.0 < at) {
            state.requeue_at = Some(Time(at));
        }
        state.count = Some(next);
    })
    .await?;
    Ok(None)
}

/// The backoff before requeue number `count`; `jitter` is in `[0, 1)`.
fn requeue_backoff(strategy: &RequeuingStrategy, count: i32, jitter: f64) -> SignedDuration {
    let base = f64::from(strategy.backoff_base_seconds());
    let max = f64::from(strategy.backoff_max_seconds());
    let plain = (base * 2f64.powi(count.saturating_sub(1))).min(max);
    SignedDuration::try_from_secs_f64(plain * (1.0 + jitter * JITTER))
        .unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_the_maximum() {
        let strategy = RequeuingStrategy {
            backoff_base_seconds: Some(60),
            backoff_max_seconds: Some(300),
            ..Default::default()
        };
        let seconds = |count| requeue_backoff(&strategy, count, 0.0).as_secs();
        assert_eq!([1, 2, 3, 4, 5].map(seconds), [60, 120, 240, 300, 300]);
        assert_eq!(requeue_backoff(&strategy, 1, 0.5).as_millis(), 60_003);
    }
}
