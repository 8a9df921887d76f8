//! The maximum execution time of an admitted Workload.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;

use super::deactivation::set_deactivation_target;
use super::workload_controller::record_event;
use crate::ControllerContext;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

/// Deactivates a Workload after its maximum execution time; returns the time left until then.
pub(super) async fn reconcile_max_execution_time(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<Option<Duration>> {
    let admitted = predicates::true_condition(wl, c::ADMITTED);
    let (Some(admitted), Some(limit)) = (admitted, wl.spec.maximum_execution_time_seconds) else {
        return Ok(None);
    };
    let past = wl
        .status
        .accumulated_past_execution_time_seconds
        .unwrap_or(0);
    let allowed = SignedDuration::from_secs(i64::from(limit) - i64::from(past));
    let remaining = allowed - shared.now().duration_since(admitted.last_transition_time.0);
    if remaining > SignedDuration::ZERO {
        return Ok(Some(remaining.unsigned_abs()));
    }
    if wl.is_condition_true(c::DEACTIVATION_TARGET) {
        return Ok(None);
    }
    let reason = c::deactivation::MAXIMUM_EXECUTION_TIME_EXCEEDED;
    let message = "exceeding the maximum execution time";
    set_deactivation_target(shared, wl, reason, message, |wl| {
        wl.status.accumulated_past_execution_time_seconds = None;
    })
    .await?;
    let message = format!("The maximum execution time ({limit}s) exceeded");
    record_event(shared, wl, EventType::Warning, reason, message);
    Ok(None)
}
